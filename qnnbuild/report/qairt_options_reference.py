"""The options of Qualcomm's SDK as a page for people, out of their data.

`python -m qnnbuild.report.qairt_options_reference > docs/qairt-options.md` writes it; a test
compares both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping

from qnnbuild.toolchains.qairt_options import (
    BOTH,
    CONVERTER,
    EXTENSIONS,
    GEN,
    HTP,
    LIBRARY,
    SET_BY,
    Option,
    data,
)
from qnnbuild.toolchains.qairt_routes import (
    CPP,
    DLC,
    ORT_DLC,
    QUANTIZER,
    renamed_since,
    sections_of,
)

HEAD = """\
# Options of `qairt-<version>`

Made from the data of the package by `python -m qnnbuild.report.qairt_options_reference`. What the
tools of Qualcomm's SDK take, and how a recipe says it. A name, value, version or chip that a tool
would refuse, or pass over in silence, is an error at `qnnbuild check`; a name that another version
has for it is answered with the one to write.

Options that change bytes are in the key of their action, unless they are the default. *Run* marks
what only changes how a device runs the binary: it stands in `manifest.json`, and a change of it
builds nothing again; *both* does both. *Since* is the first version that is known to have it, so an
older SDK refuses it here; empty: all versions that this toolchain is for. An option is said in one
way only: what a recipe has words of its own for stands in a table of its own.

`options: {{qairt: {{route: …}}}}` is the way from the model to the binary: `{cpp}`, the usual one,
`{dlc}`, whose tools have flags of their own, or `{ort_dlc}`, where the toolchain `ort` converts.
"""

Part = tuple[str, str, Mapping[str, Option]]
"""Where a recipe says them, of which tool they are, and the options."""

TOOLS = {
    CONVERTER: "Flags of qnn-onnx-converter: two dashes before the option's name",
    LIBRARY: "What qnn-model-lib-generator makes",
    HTP: "Keys of the HTP's own file, which qnn-context-binary-generator and qnn-net-run read",
    EXTENSIONS: "Keys of the file around the HTP's own, `--config_file` of the same tools",
}

DLC_TOOLS = {
    CONVERTER: "Flags of qairt-converter",
    QUANTIZER: "Flags of qairt-quantizer",
}


def parts() -> Iterator[Part]:
    for section, options in data().sections.items():
        if section == HTP:  # what comes before it is of the usual route
            yield from _of_dlcs()
        yield f"`{SET_BY}.{section}`", TOOLS[section], options


def _of_dlcs() -> Iterator[Part]:
    for section, options in sections_of(DLC).items():
        if section in DLC_TOOLS:
            name = f"`{SET_BY}.{section}` with `route: {DLC}`"
            yield name, DLC_TOOLS[section], options


def page() -> str:
    """The whole page, from what the package ships."""
    lines = [HEAD.format(cpp=CPP, dlc=DLC, ort_dlc=ORT_DLC)]
    for name, tool, options in parts():
        lines += [f"## {name}", "", f"{tool}.", ""]
        lines += _set([one for one in options.values() if not one.said_by])
        lines += _said([one for one in options.values() if one.said_by])
    lines += _versions()
    return "\n".join(lines)


def _set(options: Iterable[Option]) -> list[str]:
    lines = ["| option | value | default | what it does | where it goes | since | limits |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for one in options:
        cells = (_name(one), _value(one), _default(one), one.about, _goes(one), one.since)
        lines.append(_row((*cells, "; ".join(_limits(one)))))
    return [*lines, ""]


def _said(options: Iterable[Option]) -> list[str]:
    rows = [_row((_name(one), one.said_by)) for one in options]
    return ["| what a tool calls it | a recipe says it |", "|---|---|", *rows, ""] if rows else []


def _versions() -> list[str]:
    words = [
        f"from {since} on `{word}`" if since != "0" else f"before that `{word}`"
        for since, word in data().chip_words
    ]
    archs = [f"HTP v{arch} from {since} on" for arch, since in data().arch_since.items()]
    lines = ["## Versions", "", f"- The chip's number in the HTP's file: {', '.join(words)}."]
    return [*lines, f"- Generations of the HTP that came later: {', '.join(archs)}.", ""]


def _name(one: Option) -> str:
    other = f" (also {', '.join(f'`{name}`' for name in one.was)})" if one.was else ""
    return f"`{one.name}`{other}"


def _value(one: Option) -> str:
    if one.form in ("choice", "names", "pairs") and one.values:
        listed = ", ".join(f"`{value}`" for value in one.values)
        return {"choice": "", "names": "list of ", "pairs": "name: "}[one.form] + listed
    if one.form in ("number", "real"):
        kind = "whole number" if one.form == "number" else "number"
        high = "" if one.high is None else f" to {one.high:.10g}"
        return f"{kind} from {one.low:.10g}{high}"
    return {
        "switch": "`true` or `false`",
        "bit": "`0` or `1`",
        "text": "text",
        "names": "list of names",
        "some": "`true` or a list of names",
        "pairs": "name: value",
        "mapping": "mapping",
        "mappings": "list of mappings",
    }[one.form]


def _default(one: Option) -> str:
    return f"`{one.default}`" if one.default else ""


def _goes(one: Option) -> str:
    """Into which part of a file, and whether it is in a key."""
    if not one.at:
        return "key"
    used = {GEN: "key", BOTH: "both"}.get(one.used, "run")
    called = f" as `{one.writes}`" if one.writes else ""
    return f"`{one.at}`{called}, {used}"


def _limits(one: Option) -> Iterator[str]:
    if one.old:
        yield f"before {renamed_since()} the flag was `--{one.old}`"
    if one.until:
        yield f"does nothing since {one.until}"
    if one.min_arch is not None:
        yield f"from HTP v{one.min_arch} on"
    if one.chip_limit:
        yield f"at most the chip's {one.chip_limit}"
    if one.flag:
        yield f"the flag is `{' '.join(filter(None, (one.flag, one.word)))}`"
    yield from (f"not beside {other}" for other in one.excludes)
    yield from (f"needs {other}" for other in one.needs)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


if __name__ == "__main__":
    sys.stdout.write(page())
