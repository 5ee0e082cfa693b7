"""A binary for several chips with its ctx.onnx: both made for fewer chips, and kept in step.

The plugin's own tool for that takes the records in the order of their names and the lists of the
ctx.onnx in the order in which chips were asked for, so it may name the chip that it removed; of the
contexts' description it loses what it does not know (sizes of weights, platform). Here chips are
found by their soc_model in both, and what is not known stays. Seen with onnxruntime-qnn 2.7.0.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

import onnx

from qnnbuild.formats.ctx_onnx import COMPATIBILITY
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.multi_chip import stripped

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

LISTS = (4, 5, 6)  # fields of ep_compatibility_info with one value a chip: arch, soc_model, VTCM
CHIP_IDS = 5


def strip_binary(path: Path, keep: Collection[int], into: Path) -> tuple[Path, ...]:
    """`into` gets a file of the same name for the chips with these soc_models."""
    made = into / path.name
    with made.open("wb") as file:
        file.writelines(stripped(memoryview(path.read_bytes()), keep))
    return (made,)


def strip_ctx_onnx(path: Path, keep: Collection[int], into: Path) -> tuple[Path, ...]:
    """The ctx.onnx and each binary that it points to, for these chips. Raises FormatError."""
    model = onnx.load(str(path), load_external_data=False)
    made: list[Path] = []
    binaries: set[str] = set()
    for node in model.graph.node:
        if node.op_type == "EPContext":
            embedded, binary = _binary(node)
            if embedded is not None:
                pieces = stripped(memoryview(embedded.s), keep)
                embedded.s = b"".join(bytes(piece) for piece in pieces)
            elif binary:
                binaries.add(binary)
    for name in sorted(binaries):
        if Path(name).name != name:
            raise FormatError(f"its binary '{name}' is not beside it")
        made += strip_binary(path.with_name(name), keep, into)
    _keep_in_step(model, keep)
    onnx.save(model, str(into / path.name))
    return (into / path.name, *made)


def _binary(node: NodeProto) -> tuple[onnx.AttributeProto | None, str]:
    """The attribute with the binary, or its file's name; neither where another node has it."""
    said = {attribute.name: attribute for attribute in node.attribute}
    held = said.get("ep_cache_context")
    if held is None or not held.s:
        return None, ""
    if "embed_mode" not in said or said["embed_mode"].i == 1:
        return held, ""
    return None, held.s.decode("utf-8", "replace")


def _keep_in_step(model: ModelProto, keep: Collection[int]) -> None:
    wanted = {str(soc_model) for soc_model in keep}
    for entry in model.metadata_props:
        fields = entry.value.split(":")
        if not entry.key.startswith(COMPATIBILITY) or len(fields) <= max(LISTS):
            continue
        left = [n for n, one in enumerate(fields[CHIP_IDS].split(",")) if one in wanted]
        for number in LISTS:
            values = fields[number].split(",")
            if len(values) > max(left, default=0):
                fields[number] = ",".join(values[n] for n in left)
        entry.value = ":".join(fields)
