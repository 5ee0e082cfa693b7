"""convert for the toolchain `ort` when it has to quantize: a float model becomes a QDQ model.

Types, neighbours' types and what QNN demands of single operators are onnxruntime's; the ranges are
seen by us. Its `quantize` would hold all samples, and lift the whole model to another opset for the
sake of 16 bits; so its parts are used.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto
from onnxruntime.quantization import QuantType
from onnxruntime.quantization.calibrate import TensorData
from onnxruntime.quantization.execution_providers.qnn import get_qnn_qdq_config
from onnxruntime.quantization.qdq_quantizer import QDQQuantizer
from onnxruntime.quantization.quant_utils import add_infer_metadata

from qnnbuild.work.calibration import Range, float_tensors, ranges
from qnnbuild.work.encodings import (
    Given,
    given,
    nodes_that_stay_float,
    read_encodings,
    said_ranges,
)
from qnnbuild.work.feeds import feed_files
from qnnbuild.work.floating import keep_float
from qnnbuild.work.fusions import fuse
from qnnbuild.work.masks import stored_masks
from qnnbuild.work.model_bytes import (
    INLINE_LIMIT,
    load_side_files,
    save,
    stored_bytes,
    weights_at_hand,
)
from qnnbuild.work.names import drop_remarks, name_nodes, sort_nodes
from qnnbuild.work.onnx_files import read_whole
from qnnbuild.work.overrides import bits_of, merged, users_overrides
from qnnbuild.work.qdq import check_float, check_scales, tell_saturated
from qnnbuild.work.quantized_report import compare, report, tell_ranges
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.versions import opset_of
from qnnbuild.work.walk import made_by
from qnnbuild.work.weights_only import quantize_weights
from qnnbuild.work.widths import (
    ACTIVATIONS,
    Overrides,
    Selection,
    matmul_channels,
    norm_scales,
    overrides_for,
    readers_of,
    spread,
)

SMALL = 1 << 16
"""Bytes; smaller weights are in the model while it is calibrated, since fusions read constants."""

AXIS_SINCE = 13
"""ONNX's own quantizers know channels from this opset on; Microsoft's always have."""


@dataclass(frozen=True, kw_only=True)
class Wishes:
    """The recipe's Quantization; model/recipe.py says what each field means."""

    weights: int | None
    activations: int | None
    bias: int
    per_channel: bool
    symmetric_weights: bool
    symmetric_activations: bool
    method: str
    percentile: float | None
    sixteen_bit_operators: tuple[str, ...]
    sixteen_bit_nodes: tuple[str, ...]
    float_operators: tuple[str, ...]
    float_nodes: tuple[str, ...]
    overrides: Mapping[str, Mapping[str, Any]]
    unsigned_weights: bool = False  # also where they are symmetric

    @property
    def weight_type(self) -> QuantType:
        signed = {4: QuantType.QInt4, 8: QuantType.QInt8, 16: QuantType.QInt16}
        unsigned = {4: QuantType.QUInt4, 8: QuantType.QUInt8, 16: QuantType.QUInt16}
        has_sign = self.symmetric_weights and not self.unsigned_weights
        return (signed if has_sign else unsigned)[self.weights or 8]


@dataclass(kw_only=True)
class Making:
    """A model on its way, and what is known of it."""

    run: Run
    wishes: Wishes
    model: ModelProto
    files: list[Path]  # samples
    users: Mapping[str, str]  # a node's name → the user's
    floats: dict[str, Any]  # float tensors, weights left out
    given: Given
    masks: Overrides = field(default_factory=dict)  # stored ones, and their ranges

    @property
    def base(self) -> int:
        """The activations' width."""
        return self.wishes.activations or 8

    def float_nodes(self) -> set[str]:
        """Nodes that the recipe or the encodings leave as they are."""
        chosen = Selection(
            operators=self.wishes.float_operators, nodes=self.wishes.float_nodes, what="float"
        )
        return chosen.names(self.model, self.users) | nodes_that_stay_float(
            self.model, self.given.floats
        )


def quantize(run: Run) -> None:
    """Inputs "model" → outputs "model" and "quantization".

    More inputs where there are such: "feeds", "encodings", "names" (prepare's, for patterns).
    """
    folder = run.inputs["model"]
    model = read_whole(folder)
    blocks = check_float(model)
    making = _begun(run, model, folder)
    kept = making.float_nodes()
    if making.wishes.activations is None:
        seen: dict[str, Range] = {}
        made = _weights_only(making, folder, kept)
    else:
        seen = _seen(making, folder)
        with weights_at_hand(making.model, folder):
            made = _whole(making, kept, seen)
            keep_float(made, kept)
    _tidy(made)
    check_scales(made)
    masks = [name for name, one in seen.items() if one.masked] + list(making.masks)
    cut = tell_saturated(run, made, read_whole(folder), folder, but=masks)
    save(made, run.outputs["model"], folder)
    compared = compare(
        run, folder / "model.onnx", run.outputs["model"] / "model.onnx", making.files
    )
    said = report(made, making.users, cut=cut, compared=compared, blocks=blocks)
    said |= {"asked": dict(run.params), "samples": len(making.files)}
    said |= {"masks": masks}
    said |= {"unknown_encodings": list(making.given.unknown)}
    text = json.dumps(said, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["quantization"] / "quantization.json").write_text(text + "\n", encoding="utf-8")


def _begun(run: Run, model: ModelProto, folder: Path) -> Making:
    load_side_files(model, folder, below=SMALL)
    if stored_bytes(model) <= INLINE_LIMIT:
        # prepare has written all shapes that it could find; this adds to them, it forgets none
        model = onnx.shape_inference.infer_shapes(model)
    fuse(model)
    floats = float_tensors(model)
    if not floats:
        raise WorkError(
            "the graph has no float tensors to quantize", place="precision", exit_code=2
        )
    found = Given()
    if "encodings" in run.inputs:
        found = given(run, model, read_encodings(run.inputs["encodings"]), set(floats))
    return Making(
        run=run, wishes=Wishes(**run.params), model=model,
        files=feed_files(run.inputs["feeds"]) if "feeds" in run.inputs else [],
        users=_users_names(run), floats=floats, given=found,
    )  # fmt: skip


def _users_names(run: Run) -> dict[str, str]:
    folder = run.inputs.get("names")
    if folder is None:
        return {}
    names: dict[str, str] = json.loads((folder / "names.json").read_text(encoding="utf-8"))
    return {name: user for name, user in names.items() if user}


def _weights_only(making: Making, folder: Path, kept: set[str]) -> ModelProto:
    wishes, model = making.wishes, making.model
    load_side_files(model, folder)
    own = merged(making.given.overrides, _users(making, QuantType.QUInt8))
    made = quantize_weights(
        model,
        wishes.weight_type,
        per_channel=wishes.per_channel,
        symmetric=wishes.symmetric_weights,
        skipped=kept,
        overrides=own,
    )
    if not made:
        raise WorkError("the graph has no weights to quantize", place="precision", exit_code=2)
    return model


def _seen(making: Making, folder: Path) -> dict[str, Range]:
    wishes = making.wishes
    if not making.files:
        return said_ranges(making.given.overrides)
    seen = ranges(
        making.model, folder, making.files, method=wishes.method, percentile=wishes.percentile
    )
    tell_ranges(making.run, seen)
    for name, one in seen.items():
        sys.stdout.write(f"{name}: {one.least:.9g} to {one.most:.9g}\n")
    return seen


def _users(making: Making, activations: QuantType) -> Overrides:
    return users_overrides(
        making.model,
        making.wishes.overrides,
        set(making.floats),
        activations=activations,
        weights=making.wishes.weight_type,
    )


def _whole(making: Making, kept: set[str], seen: Mapping[str, Range]) -> ModelProto:
    """Activations and weights, by onnxruntime's quantizer."""
    own = _all_overrides(making, kept)
    limits = _limits(seen, own, making.base, making.wishes.method)
    quantizer = _quantizer(making, kept, own, limits)
    try:
        with np.errstate(over="ignore"):  # a mask's -3.4e38 over its scale is clipped afterwards
            made = quantizer.quantize_model()
    except ValueError as error:
        raise _not_quantized(making, error) from None
    assert isinstance(made, ModelProto)
    return made


def _all_overrides(making: Making, kept: set[str]) -> Overrides:
    """What single tensors get: what QNN and the widths demand, the encodings, the user's word."""
    wishes, model = making.wishes, making.model
    users = _users(making, ACTIVATIONS[making.base])
    other = _other_width(making, users, making.base) - kept
    widths = overrides_for(model, other, base=making.base, floats=set(making.floats))
    making.masks = stored_masks(model)
    demanded = making.masks
    if wishes.weights != 16:
        demanded = merged(demanded, norm_scales(model))
    told = merged(merged(widths, making.given.overrides), users)
    if wishes.per_channel:
        channels = matmul_channels(model, wishes.weight_type)
        fixed = {name for name, parts in told.items() if "scale" in parts[0]}
        # who gives a scale has chosen how many there are
        free = {name: parts for name, parts in channels.items() if name not in fixed}
        demanded = merged(demanded, free)
    return _agreed(merged(demanded, told))


def _quantizer(
    making: Making, kept: set[str], own: Overrides, limits: Mapping[str, TensorData]
) -> QDQQuantizer:
    wishes, model = making.wishes, making.model
    add_infer_metadata(model)
    asked = get_qnn_qdq_config(
        model,
        None,  # the samples are through already
        activation_type=ACTIVATIONS[making.base],
        weight_type=wishes.weight_type,
        per_channel=wishes.per_channel,
        init_overrides=own,
        add_qtype_converts=False,  # widths.py has done it for nodes
        activation_symmetric=wishes.symmetric_activations,
        weight_symmetric=wishes.symmetric_weights,
        nodes_to_exclude=sorted(kept),
    )
    if opset_of(model) < AXIS_SINCE:
        asked.extra_options["UseQDQContribOps"] = True
    return QDQQuantizer(
        model,
        asked.per_channel,
        asked.reduce_range,
        asked.weight_type,
        asked.activation_type,
        limits,
        [],
        sorted(kept),
        sorted(asked.op_types_to_quantize),
        asked.extra_options,
    )


def _not_quantized(making: Making, error: ValueError) -> WorkError:
    if not making.files:
        return WorkError(
            "not all tensors have an encoding, and there are no samples for the others",
            place="precision",
            facts=[("without one", ", ".join(making.given.missing[:5])), ("it says", str(error))],
            hint="calibration: [samples/*.npz]",
            exit_code=2,
        )
    return WorkError(
        "onnxruntime does not quantize the graph",
        place="precision",
        facts=[("it says", str(error))],
        hint="leave the node float: float: {nodes: [NAME]}",
    )


def _other_width(making: Making, users: Overrides, base: int) -> set[str]:
    """Nodes whose activations are not of the base width, whoever wants it."""
    wishes, model = making.wishes, making.model
    wide = Selection(operators=wishes.sixteen_bit_operators, nodes=wishes.sixteen_bit_nodes)
    chosen = wide.names(model, making.users)
    makers, readers = made_by(model.graph), readers_of(model)
    other = chosen if base == 8 else set[str]()
    for name, parts in users.items():
        kind = parts[0].get("quant_type")
        if name in making.floats and kind is not None and bits_of(kind) != base:
            other |= {node.name for node in readers.get(name, [])}
            other |= {makers[name].name} if name in makers else set()
    other = spread(model, other)
    for name, width in making.given.widths.items():
        if name in makers:
            (other.add if width != base else other.discard)(makers[name].name)
    return other


def _agreed(own: Overrides) -> Overrides:
    """Without conversions to the type that a tensor has already; QNN wants its Sigmoid's way."""
    for parts in own.values():
        convert = parts[0].get("convert")
        if convert is None:
            continue
        if convert["quant_type"] == parts[0]["quant_type"]:
            del parts[0]["convert"]
        for limit in ("rmin", "rmax"):
            if limit in parts[0]:
                convert[limit] = parts[0][limit]
    return own


def _limits(
    seen: Mapping[str, Range], own: Overrides, base: int, method: str
) -> dict[str, TensorData]:
    """What the quantizer calls ranges. Entropy chooses for 8 bits: 16 keep all that was seen."""
    found: dict[str, TensorData] = {}
    for name, one in seen.items():
        kind = own.get(name, [{}])[0].get("quant_type", ACTIVATIONS[base])
        low, high = one.low, one.high
        if method == "entropy" and bits_of(kind) == 16:
            low, high = one.least, one.most
        found[name] = TensorData(
            lowest=np.array(low, np.float32), highest=np.array(high, np.float32)
        )
    return found


def _tidy(model: ModelProto) -> None:
    """The same bytes whenever it is made: no remarks, nodes in order, each with its name."""
    drop_remarks(model)
    sort_nodes(model)
    name_nodes(model)
