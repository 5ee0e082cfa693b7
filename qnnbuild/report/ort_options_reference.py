"""The options of `ort` as a page for people and as a JSON Schema for editors, out of their data.

`python -m qnnbuild.report.ort_options_reference page > docs/ort-options.md` writes the one,
`… schema > qnnbuild/model/ort_options.schema.json` the other; a test compares both.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from qnnbuild.toolchains.ort_options import (
    BY_NAME,
    Kind,
    Option,
    OptionData,
    Partner,
    Scope,
    option_data,
    settable,
)

PLACEHOLDER = {"$ref": "recipe.schema.json#/$defs/placeholder"}

HEAD = """\
# Options of `ort`

Made from the data of the package by `python -m qnnbuild.report.ort_options_reference page`.
All that ONNX Runtime's QNN plugin takes, and how a recipe says it. A name, value, partner, version
or chip that the plugin would pass over in silence is an error at `qnnbuild check`.

An option is in the key of a context only if it changes bytes, and only with a value that is not the
default. What only changes how a device runs the binary stands in `manifest.json` for the app; a
change of it builds nothing again. *At run* marks options of the bytes that the app must say again.
"""

SECTIONS = (
    (Scope.BYTES, "Set by `options: {ort: {…}}`: they change the bytes"),
    (Scope.RUN_TIME, "Set by `options: {ort: {…}}`: they change how the binary runs"),
    (Scope.DUMP, "Set by `options: {ort: {…}}`: they change files beside the binary"),
)

ELSEWHERE = (
    (Kind.PROVIDER, "Options of the provider that a recipe says another way"),
    (Kind.SESSION, "Options of the session"),
    (Kind.RUN, "Options of one run"),
    (Kind.DYNAMIC, "Options that a session takes at any time"),
)

VERSIONS = """\
## Versions

What came with which plugin, by its release notes; ONNX Runtime may be newer. 2.7.0 and 1.32.0 are
what everything here was measured with. An option that needs a newer version than the installed one
is an error.
"""

WRONG = """\
## What the documentation tells otherwise

Measured with onnxruntime-qnn 2.7.0 (QAIRT 2.51.0) on an x86-64 host.
"""


def page() -> str:
    """The whole page, from what the package ships."""
    options = tuple(BY_NAME.values())
    parts = [HEAD]
    for scope, title in SECTIONS:
        parts += _set(title, [one for one in options if one.settable and one.scope is scope])
    for kind, title in ELSEWHERE:
        parts += _said(title, [one for one in options if not one.settable and one.kind is kind])
    parts += _wrong(options)
    parts += _versions(option_data())
    return "\n".join(parts)


def schema() -> dict[str, Any]:
    """For editors only: `qnnbuild check` says more of a mistake than a schema can."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "options.ort of a recipe",
        "type": "object",
        "additionalProperties": False,
        "properties": {option.name: _property(option) for option in settable()},
    }


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def _property(option: Option) -> dict[str, Any]:
    given = option.form != "number" or int(option.default or "0") >= option.low
    default = {"default": _scalar(option.default)} if option.default and given else {}
    return {
        "description": f"{option.about}{_late(option)}",
        **default,
        "anyOf": [_values(option), {"x-editor": True, **PLACEHOLDER}],
    }


def _values(option: Option) -> dict[str, Any]:
    if option.form == "switch":
        return {"enum": [0, 1, False, True]}
    if option.form == "choice":
        return {"enum": [_scalar(value) for value in option.values]}
    if option.form == "number":
        high = {} if option.high is None else {"maximum": option.high}
        return {"type": "integer", "minimum": option.low, **high}
    return {"type": "string", "minLength": 1}


def _scalar(text: str) -> int | str:
    return int(text) if text.isdecimal() else text


def _set(title: str, options: Iterable[Option]) -> list[str]:
    lines = [f"## {title}", "", "| option | value | default | what it does | limits |"]
    lines += ["|---|---|---|---|---|"]
    for one in options:
        cells = (f"`{one.name}`", _range(one), _default(one), _about(one), _limits(one))
        lines.append(_row(cells))
    return [*lines, ""]


def _said(title: str, options: Iterable[Option]) -> list[str]:
    lines = [f"## {title}", "", "| option | what it does | recipe | how |", "|---|---|---|---|"]
    lines += [
        _row((f"`{one.name}`", _about(one), f"`{one.recipe}`", one.said_by or ""))
        for one in options
    ]
    return [*lines, ""]


def _wrong(options: Iterable[Option]) -> list[str]:
    lines = [WRONG]
    for one in options:
        lines += [f"- `{one.name}`: {text}." for text in one.wrong]
    return [*lines, ""]


def _versions(data: OptionData) -> list[str]:
    lines = [
        VERSIONS,
        "| plugin | QAIRT | QNN's API | ONNX Runtime |",
        "|---|---|---|---|",
    ]
    lines += [_row((one.plugin, one.qairt, one.qnn_api or "", one.ort)) for one in data.releases]
    return [*lines, ""]


def _range(option: Option) -> str:
    if option.form == "switch":
        return "`0` or `1`"
    if option.form == "choice":
        return ", ".join(f"`{value}`" for value in option.values)
    if option.form == "number":
        high = f" to {option.high}" if option.high is not None else ""
        limit = f", at most the chip's {option.chip_limit}" if option.chip_limit else ""
        return f"whole number from {option.low}{high}{limit}"
    return "text" if option.form == "text" else "a file"


def _default(option: Option) -> str:
    if not option.default:
        return ""
    standing = f", `{option.standing}` where what it needs is missing" if option.standing else ""
    return f"`{option.default}`{standing}"


def _about(option: Option) -> str:
    unknown = "" if option.documented else "; not in the documentation"
    read = f"; the library reads `{option.read_as}`" if option.read_as else ""
    return f"{option.about}{_late(option)}{read}{unknown}"


def _late(option: Option) -> str:
    return "; at run" if option.at_run else ""


def _limits(option: Option) -> str:
    return "; ".join([*_versions_of(option), *_chips_of(option), *_partners_of(option)])


def _versions_of(option: Option) -> Iterator[str]:
    words = {"plugin": "plugin", "qairt": "QAIRT", "qnn_api": "QNN's API"}
    yield from (f"from {words[name]} {version} on" for name, version in option.since.said)
    for value, since in option.values_since.items():
        yield from (f"`{value}` from {words[name]} {version} on" for name, version in since.said)


def _chips_of(option: Option) -> Iterator[str]:
    if option.min_arch is not None:
        yield f"from HTP v{option.min_arch} on"
    if option.hosts:
        yield f"on {', '.join(option.hosts)}"
    if option.backends:
        yield f"backend {', '.join(option.backends)}"


def _partners_of(option: Option) -> Iterator[str]:
    for partner in option.needs:
        of = f"`{'`, `'.join(partner.when)}` needs" if partner.when else "needs"
        yield f"{of} {_partner(partner)}"
    for partner in option.excludes:
        yield f"not beside {_partner(partner)}"


def _partner(partner: Partner) -> str:
    other = BY_NAME[partner.name]
    if other.settable:
        return f"`{other.name}: {' or '.join(partner.values)}`"
    return f"`{other.name}={' or '.join(partner.values)}` (`{other.recipe}`)"


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


PARTS: Mapping[str, Any] = {"page": page, "schema": schema_text}

if __name__ == "__main__":
    sys.stdout.write(PARTS[sys.argv[1]]())
