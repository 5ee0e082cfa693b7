"""ort_options.yaml as typed rows. A key or value that no row can have is an error."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any, TypeVar

import yaml

from qnnbuild.toolchains.ort_options import (
    SET_BY,
    Kind,
    Option,
    OptionData,
    Partner,
    Release,
    Scope,
    Since,
    Tested,
)

Loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text

FORMS = ("switch", "number", "choice", "text", "path")
SECTIONS = {"hosts_of", "versions", "options"}

T = TypeVar("T")

Readers = Mapping[str, Callable[[Any], Any]]
"""What makes a field's value out of YAML; text stays text without."""


def read_option_data(text: str) -> OptionData:
    """Raises ValueError with the row that is wrong."""
    top = yaml.load(text, Loader=Loader)  # noqa: S506 - a base loader makes texts and nothing else
    if set(top) != SECTIONS:
        raise ValueError(f"sections {sorted(top)}, not {sorted(SECTIONS)}")
    return OptionData(
        options=tuple(option_of(row) for row in top["options"]),
        releases=tuple(_row(Release, row, {}) for row in top["versions"]),
        hosts_of={tag: tuple(hosts) for tag, hosts in top["hosts_of"].items()},
    )


def option_of(row: Mapping[str, Any]) -> Option:
    """One option. Without a `recipe` it is said under options.ort."""
    try:
        found = _row(Option, {"recipe": f"{SET_BY}.{row['name']}", **row}, FIELDS)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{row.get('name', row)}: {error}") from error
    if found.form not in FORMS:
        raise ValueError(f"{found.name}: no form '{found.form}'")
    return found


def _row(kind: type[T], row: Mapping[str, Any], readers: Readers) -> T:
    known = {one.name: one for one in fields(kind)}  # type: ignore[arg-type]  # dataclasses only
    if unknown := set(row) - set(known):
        raise ValueError(f"no key {', '.join(sorted(unknown))}")
    for name, one in known.items():
        needed = one.default is MISSING and one.default_factory is MISSING
        if needed and name not in row:
            raise ValueError(f"{name} is missing")
    values: dict[str, Any] = {}
    for name, value in row.items():
        read: Callable[[Any], Any] = readers.get(name, _text)
        values[name] = read(value)
    return kind(**values)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return tuple(_text(item) for item in value)


def _truth(value: Any) -> bool:
    return {"true": True, "false": False}[value]


def _partners(value: Any) -> tuple[Partner, ...]:
    return tuple(_row(Partner, row, {"values": _texts, "when": _texts}) for row in value)


def _since(value: Any) -> Since:
    return _row(Since, value, {})


FIELDS: Readers = {
    "kind": Kind,
    "scope": Scope,
    "values": _texts,
    "low": int,
    "high": int,
    "min_arch": int,
    "min_soc_model": int,
    "at_run": _truth,
    "documented": _truth,
    "needs": _partners,
    "excludes": _partners,
    "since": _since,
    "values_since": lambda value: {name: _since(row) for name, row in value.items()},
    "hosts": _texts,
    "backends": _texts,
    "wrong": _texts,
    "tested": lambda value: _row(Tested, value, {}),
}
