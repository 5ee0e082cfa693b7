"""--op_packages of the compiled tools: libraries that really are loaded, and what they bring."""

from __future__ import annotations

import argparse
import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.standin.tools.library_file import Model
from tests.standin.tools.log import RefusedError, timed

if TYPE_CHECKING:
    from onnx.reference.op_run import OpRun

TARGETS = ("", "CPU")  # of this machine; HTP is the Hexagon's own


class Loaded(NamedTuple):
    data: bytes
    library: ctypes.CDLL


def register(values: Mapping[str, str]) -> list[Loaded]:
    """Each library, as `path:provider[:target]` names them."""
    return [_load(entry) for entry in values.get("op_packages", "").split(",") if entry]


def converters(given: argparse.Namespace) -> None:
    """--converter_op_package_lib and --op_package_lib, which the converter loads itself."""
    for path in filter(None, (getattr(given, "converter_op_package_lib", None) or "").split(",")):
        _open(path)
    for entry in filter(None, (getattr(given, "op_package_lib", None) or "").split(",")):
        path, _, provider = entry.partition(":")
        if not provider:
            raise RefusedError(f"Malformed opPackage string provided: {entry}")
        if not hasattr(_open(path), provider):
            raise RefusedError(f"Op package {path} has no function {provider}")


def check(models: Iterable[Model], registered: Iterable[Loaded]) -> None:
    """Every operator of a graph is QNN's own, or some package's."""
    libraries = list(registered)
    for model in models:
        for op in model.meta.get("own_operators", []):
            if not any(op.encode() + b"\0" in library for library, _ in libraries):
                node = next(one for one in model.meta["nodes"] if one["type"] == op)
                timed("ERROR", f"OpConfig validation failed for {op}", 12.4)
                timed("ERROR", f"QnnModel::addNode() validating node {node['name']} failed.", 12.4)
                raise RefusedError("Failed to compose graphs: ComposeGraphs Failed with error = 1")


def run(model: bytes, feeds: Mapping[str, Any], registered: Sequence[Loaded]) -> dict[str, Any]:
    """A graph in which packages compute what is theirs: really, by their own functions."""
    import onnx  # here: most tools look at packages alone
    from onnx.reference import ReferenceEvaluator

    from tests.standin.tools.onnx_graph import own_operators

    proto = onnx.ModelProto.FromString(model)
    domains = {n.op_type: n.domain for n in proto.graph.node if n.op_type in own_operators(proto)}
    classes = [_operator(op, domain, registered) for op, domain in domains.items()]
    session = ReferenceEvaluator(proto, new_ops=classes)
    return dict(zip(session.output_names, session.run(None, dict(feeds)), strict=True))


def _operator(op: str, domain: str, registered: Sequence[Loaded]) -> type[OpRun]:
    import numpy as np
    from onnx.reference.op_run import OpRun

    name = f"PKG_{op}_function"
    found = next((one.library for one in registered if hasattr(one.library, name)), None)
    if found is None:
        raise RefusedError(f"Graph Execution failure: no function computes {op}")
    asked = getattr(found, name)
    asked.restype = ctypes.c_void_p
    address = asked()
    numbers = ctypes.POINTER(ctypes.c_float)

    def compute(_: OpRun, *inputs: Any) -> tuple[Any]:
        arrays = [np.ascontiguousarray(one, dtype=np.float32) for one in inputs]
        made = np.empty_like(arrays[0])
        kind = ctypes.CFUNCTYPE(ctypes.c_int, *[numbers] * (len(arrays) + 1), ctypes.c_int)
        pointers = [one.ctypes.data_as(numbers) for one in (made, *arrays)]
        if kind(address)(*pointers, made.size):
            raise RefusedError(f"Graph Execution failure: {op} failed")
        return (made,)

    return type(op, (OpRun,), {"op_domain": domain, "_run": compute})


def _open(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(os.path.realpath(path), mode=os.RTLD_NOW)
    except OSError as problem:
        raise RefusedError(f"Unable to load op package library: {problem}") from problem


def _load(entry: str) -> Loaded:
    parts = entry.split(":")
    if len(parts) not in (2, 3) or not all(parts[:2]):
        raise RefusedError(f"Malformed opPackage string provided: {entry}")
    path, provider, target = (*parts, "")[:3]
    if target not in TARGETS:
        timed("ERROR", f"Op package registration is not supported for target {target}")
        raise RefusedError("Register Op Packages failure")
    try:
        library = ctypes.CDLL(os.path.realpath(path), mode=os.RTLD_NOW)
        getattr(library, provider)
    except (OSError, AttributeError) as problem:
        timed("ERROR", f"Could not load op package {path}: {problem}")
        raise RefusedError("Register Op Packages failure") from problem
    return Loaded(Path(path).read_bytes(), library)
