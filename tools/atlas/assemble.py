"""What was measured as data: docs/atlas.json, and what the package takes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tools.atlas.measure import CHIPS, Cell, generations, versions
from tools.atlas.models import Case

ROOT = Path(__file__).parents[2]
ATLAS = ROOT / "docs" / "atlas.json"
REFUSALS = ROOT / "qnnbuild" / "work" / "refusals.json"
LONGEST = 160
BY_ITS_TYPE = ("ai.onnx:Cast",)
"""Operators whose variants are told apart by prediction too; see qnnbuild/work/operators.py."""

Row = Mapping[str, Any]


def atlas_of(measured: Sequence[tuple[Case, Mapping[str, Cell]]]) -> dict[str, Any]:
    return {
        "about": "What the operator atlas measured; tools/atlas makes it. on: npu, cpu (some "
        "nodes of it), fails (no session at all), folded (ONNX Runtime leaves no node of it); by "
        "the HTP generation where they differ. quality: dB against the CPU, on the emulator of "
        "one chip; 999 is the same numbers. claim: what the documentation says.",
        "tools": versions(),
        "chips": generations(),
        "cases": [_row(case, cells) for case, cells in measured],
    }


def _row(case: Case, cells: Mapping[str, Cell]) -> dict[str, Any]:
    archs = generations()
    on = {str(archs[chip]): cells[chip].on for chip in CHIPS}
    why = {str(archs[chip]): reason(case, cells[chip]) for chip in CHIPS}
    fused = {str(archs[chip]): list(cells[chip].fused) for chip in CHIPS}
    quality = next((cell.quality for cell in cells.values() if cell.quality is not None), None)
    told: dict[str, Any] = {"name": case.spec.name, "variant": case.spec.variant, "form": case.form}
    told |= {"claim": case.spec.claim, "on": _same(on)}
    refused = {arch: text for arch, text in why.items() if text}
    if refused:
        texts = set(refused.values())
        told["why"] = texts.pop() if len(texts) == 1 else refused
    if case.spec.fusion:
        told["fused"] = _same(fused)
    return told | ({"quality": quality} if quality is not None else {})


def _same(by_arch: Mapping[str, Any]) -> Any:
    values = list(by_arch.values())
    return values[0] if all(value == values[0] for value in values) else dict(by_arch)


def reason(case: Case, cell: Cell) -> str:
    """Of the operator that is asked for, where the plugin gives one."""
    if cell.on in ("npu", "folded"):
        return ""
    asked = [
        node.name for node in case.model.graph.node if not node.op_type.endswith("quantizeLinear")
    ]
    named = [why for name, why in cell.refused.items() if name in asked]
    others = [why for name, why in cell.refused.items() if name not in asked]
    said = next((why for why in (*named, *others, cell.error) if why), "")
    return shortened(said)


def shortened(text: str) -> str:
    """The plugin's words without what belongs to one graph only."""
    plain = " ".join(text.split()).removeprefix("[ONNXRuntimeError] : ")
    plain = re.sub(r"\bc\d\d_", "", plain.replace("`", "'"))  # a pack's mark
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 1]}…"


def on_of(row: Row, arch: int) -> str:
    on = row["on"]
    return str(on if isinstance(on, str) else on[str(arch)])


def why_of(row: Row, arch: int) -> str:
    why = row.get("why", "")
    return str(why if isinstance(why, str) else why.get(str(arch), ""))


def fused_of(row: Row, arch: int) -> list[str]:
    fused = row.get("fused", [])
    return list(fused if isinstance(fused, list) else fused[str(arch)])


def refusals_of(atlas: Mapping[str, Any]) -> dict[str, Any]:
    """What prediction needs: plain cases that some generation refuses."""
    archs = sorted(atlas["chips"].values())
    operators: dict[str, dict[str, Any]] = {}
    for row in atlas["cases"]:
        name = _predicted_as(row)
        refusing = [arch for arch in archs if on_of(row, arch) in ("cpu", "fails")]
        if name and refusing:
            told = {"archs": refusing, "why": why_of(row, refusing[-1])}
            operators.setdefault(name, {})[row["form"]] = told
    return {
        "about": "Operators and types that the atlas saw refused, by HTP generation. Taken from "
        "docs/atlas.json by tools/atlas.",
        "archs": archs,
        "operators": {name: operators[name] for name in sorted(operators)},
    }


def _predicted_as(row: Row) -> str | None:
    if row["claim"] in ("fused", "not fused", "undocumented") or row["claim"] == "cpu":
        return None
    if row["name"] in BY_ITS_TYPE:
        return f"{row['name']}:{row['variant']}"
    return row["name"] if not row["variant"] else None


def lines(value: Mapping[str, Any]) -> str:
    """JSON with one line for each case or operator, so that a difference can be read."""
    return "".join(_lines(value)) + "\n"


def _lines(value: Mapping[str, Any]) -> Iterator[str]:
    yield "{\n"
    for number, (key, one) in enumerate(value.items()):
        end = "" if number == len(value) - 1 else ","
        if isinstance(one, list) and one and isinstance(one[0], dict):
            rows = ",\n".join(f"  {_compact(row)}" for row in one)
            yield f" {json.dumps(key)}: [\n{rows}\n ]{end}\n"
        elif isinstance(one, dict) and any(isinstance(v, dict) for v in one.values()):
            rows = ",\n".join(f"  {json.dumps(k)}: {_compact(v)}" for k, v in one.items())
            yield f" {json.dumps(key)}: {{\n{rows}\n }}{end}\n"
        else:
            yield f" {json.dumps(key)}: {_compact(one)}{end}\n"
    yield "}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def write(measured: Sequence[tuple[Case, Mapping[str, Cell]]]) -> dict[str, Any]:
    atlas = atlas_of(measured)
    ATLAS.write_text(lines(atlas), encoding="utf-8")
    REFUSALS.write_text(lines(refusals_of(atlas)), encoding="utf-8")
    return atlas


def read() -> dict[str, Any]:
    atlas: dict[str, Any] = json.loads(ATLAS.read_text(encoding="utf-8"))
    return atlas
