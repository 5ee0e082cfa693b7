"""docs/coverage.md: every option and feature of the documentation, and how it is tested.

`python -m tools.coverage` writes it out of docs/coverage.yaml and of the options' own data.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from qnnbuild.toolchains.ort_options import Kind, Option, of_kind

ROOT = Path(__file__).parents[1]
DATA = ROOT / "docs" / "coverage.yaml"
PAGE = ROOT / "docs" / "coverage.md"

HOW = {
    "host": "real, on the host",
    "stand-in": "stand-in",
    "device": "device only",
    "refused": "refused, with the reason",
    "outside": "no part of a build",
}

KINDS = (
    (Kind.PROVIDER, "Options of the provider"),
    (Kind.SESSION, "Options of the session"),
    (Kind.RUN, "Options of one run"),
    (Kind.DYNAMIC, "Options that a session takes at any time"),
)

HEAD = """\
# Coverage

Made by `python -m tools.coverage`: every feature and every option of the documentation of ONNX
Runtime's QNN plugin, and what compiling with Qualcomm's SDK takes, how it is said here, and how
that is tested. The options of the SDK stand in docs/qairt-options.md. A test holds this page
against its data, and each test that is named against the code.

- *real, on the host*: the plugin's own library does it, on Linux on x86-64;
- *stand-in*: what was made by hand stands in for what only Qualcomm's SDK or a device makes;
- *device only*: no host can show it; the test covers what a host can see: that it is checked, and
  told to an app or refused;
- *refused*: an error at `qnnbuild check` says why, and what to write;
- *no part of a build*: the answer says who does it.
"""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One feature or option, with its answer."""

    what: str
    recipe: str
    how: str  # a key of HOW
    where: tuple[str, ...] = ()  # file, or file::function
    note: str = ""

    def __post_init__(self) -> None:
        if self.how not in HOW:
            raise ValueError(f"{self.what}: how is {self.how}, none of {', '.join(HOW)}")


def features() -> dict[str, tuple[Row, ...]]:
    """The documentation's sections in their order."""
    sections: list[dict[str, Any]] = yaml.safe_load(DATA.read_text(encoding="utf-8"))["sections"]
    return {one["title"]: tuple(_row(**row) for row in one["rows"]) for one in sections}


def options() -> dict[str, tuple[Row, ...]]:
    """Those of the documentation; what it does not name stands in docs/ort-options.md."""
    return {
        title: tuple(_option(one) for one in of_kind(kind) if one.documented)
        for kind, title in KINDS
    }


def page() -> str:
    known = features()
    told = options()
    parts = [HEAD, *_count([*known.values(), *told.values()]), "## Features", ""]
    for title, rows in known.items():
        parts += [f"### {title}", "", *_table("feature", rows)]
    parts += ["## Options", ""]
    for title, rows in told.items():
        parts += [f"### {title}", "", *_table("option", rows)]
    return "\n".join(parts)


def _row(*, what: str, recipe: str, how: str, where: Any = (), note: str = "") -> Row:
    places = (where,) if isinstance(where, str) else tuple(where)
    return Row(what=what, recipe=recipe, how=how, where=places, note=note)


def _option(option: Option) -> Row:
    recipe = f"`{option.recipe}`"
    said = "" if option.settable or option.recipe in (option.said_by or "") else option.said_by
    told = "; ".join(filter(None, (option.tested.note, said)))
    return Row(
        what=f"`{option.name}`",
        recipe=recipe,
        how=option.tested.how,
        where=(option.tested.where,),
        note=told,
    )


def _count(sections: list[tuple[Row, ...]]) -> Iterator[str]:
    rows = [row for section in sections for row in section]
    counts = {how: sum(row.how == how for row in rows) for how in HOW}
    told = ", ".join(f"{count} {HOW[how]}" for how, count in counts.items())
    yield from (f"{len(rows)} rows: {told}.", "")


def _table(what: str, rows: tuple[Row, ...]) -> Iterator[str]:
    yield from (f"| {what} | recipe or command | tested | where |", "|---|---|---|---|")
    for row in rows:
        where = ", ".join(f"`{_short(place)}`" for place in dict.fromkeys(map(_file, row.where)))
        note = f"{where}; {row.note}" if where and row.note else where or row.note
        yield f"| {row.what} | {row.recipe} | {HOW[row.how]} | {note} |".replace("  ", " ")
    yield ""


def _file(place: str) -> str:
    return place.partition("::")[0]


def _short(file: str) -> str:
    return re.sub(r"^tests/", "", file)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
