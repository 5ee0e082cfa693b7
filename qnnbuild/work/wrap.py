"""wrap: an ONNX model around one graph of a context binary, and the original that it is held to.

The wrapper is what onnxruntime's gen_qnn_ctx_onnx_model.py writes: one EPContext node with the
inputs and outputs that the binary has, and on request a QuantizeLinear and a DequantizeLinear at
each quantized border. Seen with onnxruntime-qnn 2.7.0: tensors are matched by name, names that the
binary has not by their order without a word, so the wrapper has the binary's names. What lies
between two nodes needs a type of its own, else the model does not load. The CPU runs what
quantizes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper

from qnnbuild.errors import did_you_mean
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.tensor import GraphFacts, TensorFacts
from qnnbuild.work.made_elsewhere import read_compiled
from qnnbuild.work.made_files import COMPILED, MADE
from qnnbuild.work.original import keep_original
from qnnbuild.work.read_back import border_as_json
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.sample_borders import KNOWN

WRAPPER = "model.onnx"
OPSET, IR = 21, 10
BEHIND = "_dq"
"""What an input or output is called behind the quantizing; gen_qnn_ctx_onnx_model.py's word."""

NO_REFERENCE = "no reference: the recipe has neither compiled.original nor verify.reference"


@dataclass(frozen=True, kw_only=True)
class Border:
    """An input or output of the wrapper, and the binary's tensor that it stands for."""

    name: str
    tensor: TensorFacts

    @property
    def is_float(self) -> bool:
        return self.name != self.tensor.name

    @property
    def dtype(self) -> str:
        return "float32" if self.is_float else self.tensor.dtype

    def as_facts(self) -> TensorFacts:
        return TensorFacts(name=self.name, dtype=self.dtype, shape=self.tensor.shape)


def wrap(run: Run) -> None:
    """Inputs "model" (a context binary) and "original" → "model", "baseline", "names", "report".

    The outputs are those of prepare: whatever comes after needs not know that nothing was prepared.
    """
    binary = run.inputs["model"] / MADE[COMPILED]
    facts = read_compiled(binary)
    graph = _graph(facts, run.params["graph"], given=run.params["given"])
    inputs, outputs = (
        [_border(tensor, float_io=run.params["float_io"]) for tensor in some]
        for some in (graph.inputs, graph.outputs)
    )
    _check_known([*inputs, *outputs])
    model = wrapper(facts, graph.name, inputs, outputs)
    (run.outputs["model"] / WRAPPER).write_bytes(model.SerializeToString(deterministic=True))
    binary.replace(run.outputs["model"] / MADE[COMPILED])
    if "original" in run.inputs:
        keep_original(run, inputs, outputs)
    else:
        told = {"is": None, "why_not": NO_REFERENCE, "outputs": _kinds(outputs)}
        _write_json(run.outputs["baseline"] / "baseline.json", told)
    _write_json(run.outputs["names"] / "names.json", {})
    _write_json(run.outputs["report"] / "report.json", _report(run, inputs, outputs))


def wrapper(
    facts: ContextFacts, name: str, inputs: Sequence[Border], outputs: Sequence[Border]
) -> ModelProto:
    """The binary stands beside it as `model.bin`."""
    node = helper.make_node(
        "EPContext",
        [border.tensor.name for border in inputs],
        [border.tensor.name for border in outputs],
        name=name,
        domain="com.microsoft",
        ep_cache_context=MADE[COMPILED],
        embed_mode=0,
        main_context=1,
        partition_name=name,
        ep_sdk_version=facts.sdk_build or "",
        source="QNNExecutionProvider",
    )
    before = [_quantize(border) for border in inputs if border.is_float]
    after = [_dequantize(border) for border in outputs if border.is_float]
    borders = [border for border in (*inputs, *outputs) if border.is_float]
    graph = helper.make_graph(
        [*before, node, *after],
        name,
        [_value(border.as_facts()) for border in inputs],
        [_value(border.as_facts()) for border in outputs],
        [stored for border in borders for stored in _scale(border.tensor)],
        value_info=[_value(border.tensor) for border in borders],
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=IR)
    if said := _compatibility(facts):
        helper.set_model_props(model, {"ep_compatibility_info.QNNExecutionProvider": said})
    return model


def _compatibility(facts: ContextFacts) -> str | None:
    """What the plugin writes of a binary for one chip: formats/ctx_onnx.py reads it."""
    if facts.sdk_build is None or facts.backend_api is None or facts.soc_model is None:
        return None
    sdk = ".".join(facts.sdk_build.removeprefix("v").split(".")[:3])
    return f"v2:6:{sdk}:{facts.backend_api}:0:{facts.soc_model}:0:0"


def _graph(facts: ContextFacts, name: str, *, given: bool) -> GraphFacts:
    inside = {graph.name: graph for graph in facts.graphs}
    if name in inside:
        return inside[name]
    near = did_you_mean(name, inside)
    raise WorkError(
        f"the binary has no graph '{name}'",
        place="compiled.graph" if given else "graph",
        facts=[("inside", one) for one in inside],
        hint=near or f"compiled: {{graph: {next(iter(inside))}}}",
        exit_code=2,
    )


def _border(tensor: TensorFacts, *, float_io: bool) -> Border:
    quantized = float_io and tensor.scale is not None
    return Border(name=tensor.name + BEHIND if quantized else tensor.name, tensor=tensor)


def _check_known(borders: Sequence[Border]) -> None:
    for border in borders:
        if border.tensor.dtype not in KNOWN:
            raise WorkError(
                f"'{border.name}' of the binary is {border.tensor.dtype}, which no file of "
                "samples holds",
                exit_code=2,
            )


def _value(tensor: TensorFacts) -> ValueInfoProto:
    return helper.make_tensor_value_info(tensor.name, _element(tensor.dtype), list(tensor.shape))


def _element(dtype: str) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


def _scale(tensor: TensorFacts) -> Iterator[TensorProto]:
    assert tensor.scale is not None
    assert tensor.zero_point is not None
    yield helper.make_tensor(f"{tensor.name}_scale", TensorProto.FLOAT, [], [tensor.scale])
    zero = [tensor.zero_point]
    yield helper.make_tensor(f"{tensor.name}_zp", _element(tensor.dtype), [], zero)


def _quantize(border: Border) -> NodeProto:
    name = border.tensor.name
    taken = [border.name, f"{name}_scale", f"{name}_zp"]
    return helper.make_node("QuantizeLinear", taken, [name], name=f"{name}_quantize")


def _dequantize(border: Border) -> NodeProto:
    name = border.tensor.name
    taken = [name, f"{name}_scale", f"{name}_zp"]
    return helper.make_node("DequantizeLinear", taken, [border.name], name=f"{name}_dequantize")


def _kinds(outputs: Sequence[Border]) -> dict[str, dict[str, Any]]:
    """How recorded answers are compared; as work/reference.py says it of an original."""
    return {border.name: _kind(border) for border in outputs}


def _kind(border: Border) -> dict[str, Any]:
    if np.dtype(border.dtype).kind == "f":
        return {"kind": "float"}
    if border.tensor.scale is None:
        return {"kind": "exact"}
    zero = border.tensor.zero_point
    return {"kind": "quantized", "scale": border.tensor.scale, "zero_point": zero}


def _report(run: Run, inputs: Sequence[Border], outputs: Sequence[Border]) -> dict[str, Any]:
    """What is known of it, under the names that prepare has for it."""
    wishes: Mapping[str, Mapping[str, Any]] = run.params["inputs"]
    told = border_as_json([border.as_facts() for border in inputs])
    known = {one["name"] for one in told}
    for name in wishes:
        if name not in known:
            raise WorkError(
                f"the binary has no input '{name}'",
                place=f"inputs.{name}",
                facts=[("its inputs", ", ".join(known))],
                hint=did_you_mean(name, known),
                exit_code=2,
            )
    return {
        "inputs": [{**one, **wishes.get(one["name"], {})} for one in told],
        "outputs": border_as_json([border.as_facts() for border in outputs]),
        "ir": IR,
        "opset": OPSET,
        "on_cpu": [],
        "comparison": {"why_not": "it was compiled elsewhere"},
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
