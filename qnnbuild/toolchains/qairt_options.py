"""What can be set of Qualcomm's SDK, as data: qairt_options.yaml in rows. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from itertools import takewhile
from typing import Any, cast

from qnnbuild.model.recipe import Graph

FILE = "qairt_options.yaml"
SET_BY = "options.qairt"
CONVERTER, LIBRARY, HTP, EXTENSIONS = "converter", "library", "htp", "extensions"
SECTIONS = (CONVERTER, LIBRARY, HTP, EXTENSIONS)

FORMS = (
    *("switch", "bit", "number", "real", "choice", "text", "names", "some", "pairs", "mapping"),
    "mappings",
)
GEN, RUN, BOTH = "gen", "run", "both"


@dataclass(frozen=True, kw_only=True)
class Option:
    name: str
    form: str
    about: str = ""
    values: tuple[str, ...] = ()
    low: float = 0
    high: float | None = None
    default: str = ""
    since: str = ""
    until: str = ""
    was: tuple[str, ...] = ()
    old: str = ""  # the flag of versions that spell it otherwise
    said_by: str = ""
    flag: str = ""  # of the converter; empty: two dashes and the name
    word: str = ""  # behind the flag, before the values
    at: str = ""  # the part of a JSON file: graphs, devices, cores, context_configs, …
    writes: str = ""
    used: str = GEN
    min_arch: int | None = None
    chip_limit: str = ""
    excludes: tuple[str, ...] = ()  # told on the page; checked beside each other in code
    needs: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What the HTP's file calls it."""
        return self.writes or self.name


@dataclass(frozen=True, kw_only=True)
class Data:
    sections: Mapping[str, Mapping[str, Option]]
    chip_words: tuple[tuple[str, str], ...]  # from this version on, this word
    arch_since: Mapping[int, str]


@cache
def data() -> Data:
    """The packaged file, read once in a process."""
    import yaml  # YAML is not always needed

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    top = yaml.load(text, Loader=loader)  # noqa: S506 - a base loader makes texts and nothing else
    return Data(
        sections={section: options_in(top[section]) for section in SECTIONS},
        chip_words=tuple((row["since"], row["word"]) for row in top["chip_word"]),
        arch_since={int(arch): since for arch, since in top["arch_since"].items()},
    )


def options_in(rows: Iterable[Mapping[str, Any]]) -> Mapping[str, Option]:
    return {row["name"]: option_of(row) for row in rows}


def option_of(row: Mapping[str, Any]) -> Option:
    """Raises ValueError for a row that no option can have."""
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in row.items()
    }
    for name, kind in (("low", float), ("high", float), ("min_arch", int)):
        if name in values:
            values[name] = kind(values[name])
    try:
        option = Option(**values)
    except TypeError as error:
        raise ValueError(f"{row.get('name', row)}: {error}") from error
    if option.form not in FORMS:
        raise ValueError(f"{option.name}: no form '{option.form}'")
    if not (option.about or option.said_by):
        raise ValueError(f"{option.name}: what it is about is missing")
    return option


def given(graph: Graph, section: str) -> Mapping[str, Any]:
    """What the recipe sets of a section; values have whatever form was written."""
    toolchain = cast(Mapping[str, Any], graph.options).get("qairt", {})
    found = toolchain.get(section, {}) if isinstance(toolchain, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


def numbers(version: str) -> tuple[int, ...]:
    """2.40 is newer than 2.9; whatever follows the numbers does not count."""
    parts = (re.match(r"[0-9]+", part) for part in version.split("."))
    return tuple(int(part[0]) for part in takewhile(bool, parts) if part)


def has(version: str, since: str) -> bool:
    return not since or numbers(version) >= numbers(since)


def chip_word(version: str) -> str:
    """soc_id or soc_model: what the HTP's file calls the chip's number."""
    return next(word for since, word in data().chip_words if has(version, since))
