"""A real ONNX model as the converters see it, and the same model put together again to be run."""

from __future__ import annotations

import base64
import io
import tarfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, shape_inference

from tests.standin.tools.log import RefusedError
from tests.standin.tools.meta import CODES, FLOAT32, Meta
from tests.standin.tools.names import tensor_name

NUMPY = {code: np.dtype(name) for name, code in CODES.items() if name != "float64"}
NUMPY |= {0x0408: np.dtype("uint8"), 0x0416: np.dtype("uint16")}
CHANNEL_LAST = {3: [0, 2, 1], 4: [0, 2, 3, 1], 5: [0, 2, 3, 4, 1]}
CHANNEL_FIRST_LAYOUTS = {"NCF", "NCHW", "NCDHW"}


def load(path: Path) -> onnx.ModelProto:
    if not path.is_file():
        raise RefusedError(f"Model file not found: {path}")
    try:
        model = onnx.load(path)
        onnx.checker.check_model(model)
    except Exception as problem:
        raise RefusedError(f"Failed to load ONNX model {path}: {problem}") from problem
    return model


def fix_shapes(
    model: onnx.ModelProto,
    dims: Mapping[str, Sequence[int]],
    symbols: Mapping[str, int],
    batch: int | None,
) -> None:
    """Every input gets a whole shape, or the model is refused."""
    inputs = {value.name: value for value in graph_inputs(model)}
    for name in dims:
        if name not in inputs:
            raise RefusedError(f"Input name {name} is not an input of the model")
    for name, value in inputs.items():
        shape = value.type.tensor_type.shape.dim
        if name in dims and len(dims[name]) != len(shape):
            raise RefusedError(f"Input {name} has {len(shape)} dimensions, {dims[name]} was given")
        for at, dim in enumerate(shape):
            if name in dims:
                dim.dim_value = dims[name][at]
            elif dim.dim_param in symbols:
                dim.dim_value = symbols[dim.dim_param]
            elif at == 0 and batch is not None:
                dim.dim_value = batch
            if dim.dim_value <= 0:
                raise RefusedError(
                    f"Dynamic shapes are not supported: dimension {at} of input {name} is "
                    f"{dim.dim_param or 'unknown'}"
                )


def choose_outputs(model: onnx.ModelProto, wanted: Sequence[str]) -> None:
    """`wanted` are tensors or nodes; nothing chosen keeps the graph's own."""
    if not wanted:
        return
    graph = model.graph
    known = {value.name: value for value in graph.output}
    made = {name for node in graph.node for name in node.output}
    by_node = {node.name: node.output[0] for node in graph.node if node.name}
    inferred = shape_inference.infer_shapes(model, data_prop=True).graph.value_info
    known |= {value.name: value for value in inferred}
    chosen = []
    for name in wanted:
        tensor = name if name in made else by_node.get(name)
        if tensor is None:
            raise RefusedError(f"Output node {name} is not in the model")
        chosen.append(known.get(tensor) or helper.make_empty_tensor_value_info(tensor))
    del graph.output[:]
    graph.output.extend(chosen)


def graph_inputs(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    weights = {tensor.name for tensor in model.graph.initializer}
    return [value for value in model.graph.input if value.name not in weights]


def describe_input(
    value: onnx.ValueInfoProto, *, dtype: str | None, layout: str | None, keep: bool
) -> Meta:
    """One input as the graph has it: floats of 3 to 5 dimensions become channel-last."""
    source = np.dtype(helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)).name
    dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
    floats = source.startswith("float")
    first = layout in CHANNEL_FIRST_LAYOUTS or (layout is None and floats)
    order = list(range(len(dims)))
    if first and not keep:
        order = CHANNEL_LAST.get(len(dims), order)
    name = dtype or ("int32" if source == "int64" else source)
    return {
        "name": tensor_name(value.name),
        "source": value.name,
        "source_dtype": source,
        "dtype": CODES.get(name, FLOAT32),
        "dims": [dims[at] for at in order],
        "source_dims": dims,
        "order": order,
    }


def own_operators(model: onnx.ModelProto) -> list[str]:
    """Those that ONNX Runtime cannot run: of a domain that only an operator package knows."""
    known = ("", "ai.onnx", "com.microsoft")
    return sorted({node.op_type for node in model.graph.node if node.domain not in known})


def describe_outputs(model: onnx.ModelProto, inputs: Sequence[Meta]) -> list[Meta]:
    """In the source's layout. Types and shapes are those of a real run on zeros."""
    if own_operators(model):  # what the file says has to do
        declared = model.graph.output
        return [describe_input(value, dtype=None, layout=None, keep=True) for value in declared]
    zeros = {i["source"]: np.zeros(i["source_dims"], i["source_dtype"]) for i in inputs}
    made = run(model.SerializeToString(), zeros)
    described = []
    for name, value in made.items():
        source = value.dtype.name
        described.append(
            {
                "name": tensor_name(name),
                "source": name,
                "source_dtype": source,
                "dtype": CODES.get("int32" if source == "int64" else source, FLOAT32),
                "dims": list(value.shape),
                "source_dims": list(value.shape),
                "order": list(range(value.ndim)),
            }
        )
    return described


def run(model: bytes, feeds: Mapping[str, Any]) -> dict[str, Any]:
    """On the CPU, without optimisation that differs from machine to machine."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    try:
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(names, dict(feeds)), strict=True))
    except Exception as problem:
        raise RefusedError(f"Graph Execution failure: {problem}") from problem


def split(model: onnx.ModelProto) -> tuple[str, bytes]:
    """The structure as text, and a tar of one raw file for each initializer."""
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for weight in bare.graph.initializer:
            data = numpy_helper.to_array(weight).tobytes()
            member = tarfile.TarInfo(f"{tensor_name(weight.name)}.raw")
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
            kept = TensorProto(name=weight.name, data_type=weight.data_type, dims=weight.dims)
            weight.CopyFrom(kept)
    structure = zlib.compress(bare.SerializeToString(deterministic=True), 9)
    has_weights = bool(model.graph.initializer)
    return base64.b64encode(structure).decode(), packed.getvalue() if has_weights else b""


def join(structure: str, weights: bytes) -> bytes:
    """What `split` took apart, as a model that can be run."""
    model = onnx.ModelProto()
    model.ParseFromString(zlib.decompress(base64.b64decode(structure)))
    raws: dict[str, bytes] = {}
    if weights:
        with tarfile.open(fileobj=io.BytesIO(weights)) as tar:
            for member in tar.getmembers():
                file = tar.extractfile(member)
                assert file is not None
                raws[member.name] = file.read()
    for weight in model.graph.initializer:
        weight.raw_data = raws[f"{tensor_name(weight.name)}.raw"]
    return bytes(model.SerializeToString())
