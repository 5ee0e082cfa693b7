"""sensitivity: what each layer costs when it alone is quantized, the worst first.

One model computes all of it: behind each quantized tensor stands a switch that takes the float
values instead, so that one session answers for every layer.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper

from qnnbuild.work.feeds import feed_files
from qnnbuild.work.measures import Sums, compare_arrays
from qnnbuild.work.model_bytes import write
from qnnbuild.work.npz import Array, read_npz
from qnnbuild.work.onnx_files import read_whole
from qnnbuild.work.qdq import BITS, DEQUANTIZE, QUANTIZE, QUANTIZERS
from qnnbuild.work.run import Run
from qnnbuild.work.trying import cpu_session
from qnnbuild.work.walk import all_names, free_name, made_by
from qnnbuild.work.widths import CLAMPING, MOVING, readers_of

SAMPLES = 2
MANY_LAYERS = 200
"""From here on one sample has to do: each costs a run of the model a layer."""

AT_AN_OUTPUT = "_QuantizeLinear_Input"
"""What onnxruntime's quantizer adds to the name of a tensor that is an output of the graph."""

SAME_VALUES = (*MOVING, *CLAMPING, "MaxPool")
"""What they make is what they read: both are lifted, or the values are lost all the same."""


@dataclass(kw_only=True)
class Layer:
    """Tensors of the same values that are quantized to 8 bits, and who makes and reads them."""

    tensors: list[str] = field(default_factory=list)
    pairs: list[tuple[NodeProto, NodeProto]] = field(default_factory=list)  # Quantize, Dequantize
    maker: NodeProto | None = None  # None: an input of the graph
    nodes: dict[str, None] = field(default_factory=dict)  # those to lift, in the graph's order


def sensitivity(run: Run) -> None:
    """Inputs "model" and "decision" of a try, "names", "feeds" → output "sensitivity".

    `params`: {excused: outputs that are not judged}. An empty list where the decision says that
    no layer has to be lifted. SQNR is of the worst output that is judged, with one layer
    in 8 bits against the same with none; "weights_db" is of the latter against the float model.
    """
    decision = json.loads((run.inputs["decision"] / "decision.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = {"needed": bool(decision["go"]), "layers": []}
    if found["needed"]:
        model = read_whole(run.inputs["model"])
        names = json.loads((run.inputs["names"] / "names.json").read_text(encoding="utf-8"))
        layers = layers_of(model)
        path = run.inputs["model"] / "switched.onnx"
        switch = _with_switches(model, layers)
        write(model, path)
        files = feed_files(run.inputs["feeds"])[: 1 if len(layers) > MANY_LAYERS else SAMPLES]
        excuses = run.params["excused"]
        costs = _costs(path, switch, len(layers), files, excuses)
        found["layers"] = _listed(layers, costs, names)
        found["samples"] = len(files)
    text = json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["sensitivity"] / "sensitivity.json").write_text(text + "\n", encoding="utf-8")


def layers_of(model: ModelProto) -> list[Layer]:
    """Every activation that is quantized to 8 bits, in the graph's order."""
    makers, readers = made_by(model.graph), readers_of(model)
    stored = {tensor.name: tensor for tensor in model.graph.initializer}
    by_tensor: dict[str, Layer] = {}
    found: list[Layer] = []
    for quantizer in model.graph.node:
        name = quantizer.input[0] if quantizer.input else ""
        if quantizer.op_type != QUANTIZE or name in stored or _bits(quantizer, stored) != 8:
            continue
        maker = makers.get(name)
        layer = _same_values(maker, makers, by_tensor) or Layer(maker=maker)
        if not layer.pairs:
            found.append(layer)
        layer.tensors.append(name)
        by_tensor[name] = layer
        if maker is not None and maker.op_type not in QUANTIZERS:
            layer.nodes[maker.name] = None
        for pair in readers.get(quantizer.output[0], []):
            if pair.op_type == DEQUANTIZE:
                layer.pairs.append((quantizer, pair))
                layer.nodes |= dict.fromkeys(
                    reader.name
                    for reader in readers.get(pair.output[0], [])
                    if reader.op_type not in QUANTIZERS
                )
    return [layer for layer in found if layer.nodes and layer.pairs]


def _same_values(
    maker: NodeProto | None, makers: Mapping[str, NodeProto], by_tensor: Mapping[str, Layer]
) -> Layer | None:
    """The layer whose values `maker` only moves."""
    if maker is None or maker.op_type not in SAME_VALUES:
        return None
    source = maker.input[0]
    while source in makers and makers[source].op_type in QUANTIZERS:
        source = makers[source].input[0]
    return by_tensor.get(source)


def _bits(quantizer: NodeProto, stored: Mapping[str, TensorProto]) -> int:
    zero = stored.get(quantizer.input[2]) if len(quantizer.input) > 2 else None
    return 8 if zero is None else BITS.get(TensorProto.DataType.Name(zero.data_type), 8)


def _with_switches(model: ModelProto, layers: Sequence[Layer]) -> str:
    """Behind each pair a choice between its values and the float ones; the new input's name."""
    taken = all_names(model)
    switch = free_name("switches", taken)
    behind: dict[str, list[NodeProto]] = {}
    heads: list[NodeProto] = []
    for index, layer in enumerate(layers):
        position, chosen = free_name(f"layer_{index}", taken), free_name(f"is_{index}", taken)
        model.graph.initializer.append(helper.make_tensor(position, TensorProto.INT64, [], [index]))
        heads.append(helper.make_node("Gather", [switch, position], [chosen], name=chosen))
        for quantizer, pair in layer.pairs:
            name = pair.output[0]
            pair.output[0] = free_name(f"{name}_quantized", taken)
            choice = helper.make_node(
                "Where", [chosen, pair.output[0], quantizer.input[0]], [name],
                name=free_name(f"choice_{name}", taken),
            )  # fmt: skip
            behind.setdefault(pair.output[0], []).append(choice)
    nodes: list[NodeProto] = list(model.graph.node)
    ordered = [part for node in nodes for part in (node, *_behind(node, behind))]
    copies = [NodeProto.FromString(node.SerializeToString()) for node in [*heads, *ordered]]
    del model.graph.node[:]
    model.graph.node.extend(copies)
    model.graph.input.append(helper.make_tensor_value_info(switch, TensorProto.BOOL, [len(layers)]))
    return switch


def _behind(node: NodeProto, behind: Mapping[str, Sequence[NodeProto]]) -> Iterable[NodeProto]:
    return behind.get(node.output[0], ()) if node.op_type == DEQUANTIZE else ()


def _costs(
    path: Path, switch: str, count: int, files: Sequence[Path], excuses: Collection[str]
) -> list[float]:
    """Layer by layer the SQNR of the worst output when this layer alone has 8 bits."""
    session = cpu_session(path)
    outputs = [v.name for v in session.get_outputs() if v.name not in excuses]
    sums = [dict.fromkeys(outputs, Sums()) for _ in range(count)]
    for file in files:
        arrays = read_npz(file)
        fed = {v.name: arrays[v.name] for v in session.get_inputs() if v.name != switch}
        states = np.zeros(count, dtype=np.bool_)
        plain: list[Array] = session.run(outputs, {**fed, switch: states})
        for index in range(count):
            states[:] = False
            states[index] = True
            answers = session.run(outputs, {**fed, switch: states})
            for name, ours, theirs in zip(outputs, answers, plain, strict=True):
                sums[index][name] += compare_arrays(ours, theirs, name=name)
    # one digit: what is beyond may differ between machines, and decides nothing
    return [round(min(one.sqnr_db for one in of_layer.values()), 1) for of_layer in sums]


def _listed(
    layers: Sequence[Layer], costs: Sequence[float], names: Mapping[str, str]
) -> list[dict[str, Any]]:
    order = sorted(range(len(layers)), key=lambda index: (costs[index], index))
    return [
        {
            "layer": _called(layers[index], names),
            "operator": _operator(layers[index].maker),
            "tensor": layers[index].tensors[0].removesuffix(AT_AN_OUTPUT),
            "sqnr_db": costs[index],
            "lift": list(layers[index].nodes),
        }
        for index in order
    ]


def _operator(maker: NodeProto | None) -> str:
    return "input" if maker is None else maker.op_type


def _called(layer: Layer, names: Mapping[str, str]) -> str:
    """The node's name as the user knows it; an input's own."""
    if layer.maker is None:
        return layer.tensors[0]
    return names.get(layer.maker.name) or layer.maker.name
