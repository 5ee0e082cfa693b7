"""What the compiled files say of themselves, held against what was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_file import OnnxFacts
from qnnbuild.formats.tensor import TensorFacts
from qnnbuild.work.run import WorkError

NOT_GOOD = 5


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """The files of one compile, as read."""

    ctx: CtxOnnxFacts
    binary: ContextFacts
    files: tuple[Path, ...]


def read_back(folder: Path, ctx_name: str) -> Compiled:
    """Both files, whole and belonging together."""
    ctx_path = folder / ctx_name
    if not ctx_path.is_file():
        raise not_good("the compiler ended well and wrote no ctx.onnx")
    ctx = _read(ctx_path)
    if not isinstance(ctx, CtxOnnxFacts):
        raise not_good("nothing was compiled: the ctx.onnx has no EPContext node")
    main = next((node for node in ctx.nodes if node.main), None)
    if main is None:
        raise not_good("the ctx.onnx names no binary")
    if main.file is None:
        return Compiled(ctx=ctx, binary=_context(main.embedded, ctx_name), files=(ctx_path,))
    binary_path = folder / main.file
    if Path(main.file).name != main.file or not binary_path.is_file():
        raise not_good(f"the ctx.onnx names '{main.file}', which is not beside it")
    binary = _context(_read(binary_path), main.file)
    return Compiled(ctx=ctx, binary=binary, files=(ctx_path, binary_path))


def check_chip(compiled: Compiled, soc_model: int, expected: Mapping[str, Any]) -> None:
    """The binary names the chip, its HTP and its VTCM, which graphs in one binary have each."""
    binary = compiled.binary
    wanted = {"soc_model": soc_model, **expected}
    found = {name: getattr(binary, name) for name in wanted}
    each = [int(size) / (1 << 20) for size in binary.different.get("vtcm_size", ())]
    if wanted.get("vtcm_mb") in each:
        found["vtcm_mb"] = wanted["vtcm_mb"]
    wrong = [name for name in wanted if found[name] != wanted[name]]
    if wrong:
        raise not_good(
            "the binary is for another chip than the one asked for",
            facts=[(name, f"{found[name]}, asked for {wanted[name]}") for name in wrong],
        )


def check_graphs(compiled: Compiled) -> None:
    """Every EPContext node finds its graph in the binary, and the SDK is the same in both."""
    inside = {graph.name for graph in compiled.binary.graphs}
    for node in compiled.ctx.nodes:
        if node.partition not in inside:
            raise not_good(f"the graph '{node.partition}' is not in the binary")
        if node.sdk_build is not None and node.sdk_build != compiled.binary.sdk_build:
            raise not_good(
                "ctx.onnx and binary are from different SDKs",
                facts=[("ctx.onnx", node.sdk_build), ("binary", str(compiled.binary.sdk_build))],
            )


def check_borders(compiled: Compiled, prepared: OnnxFacts) -> None:
    """Inputs and outputs are those of the prepared model: names, order, types, shapes."""
    check_border_of(compiled.ctx, prepared)


def check_border_of(ctx: CtxOnnxFacts, prepared: OnnxFacts) -> None:
    """The same for a ctx.onnx whose binary is not looked at here."""
    made = ctx.onnx
    for kind, wanted, found in (
        ("input", prepared.inputs, made.inputs),
        ("output", prepared.outputs, made.outputs),
    ):
        if _border(wanted) != _border(found):
            raise not_good(
                f"the compiled graph has other {kind}s than the model",
                facts=[("asked for", _listed(wanted)), ("compiled", _listed(found))],
            )


def border_as_json(tensors: Sequence[TensorFacts]) -> list[dict[str, Any]]:
    return [{"name": t.name, "dtype": t.dtype, "shape": list(t.shape)} for t in tensors]


def not_good(message: str, facts: Sequence[tuple[str, str]] = ()) -> WorkError:
    return WorkError(message, place="graph", facts=facts, exit_code=NOT_GOOD)


def _read(path: Path) -> object:
    try:
        return read_any(path)
    except FormatError as error:
        raise not_good(f"{path.name} is not whole: {error}") from None


def _context(facts: object, name: str) -> ContextFacts:
    if isinstance(facts, ContextFacts):
        return facts
    if isinstance(facts, DlcFacts):
        raise not_good(f"{name} holds contexts for several chips; one was asked for")
    raise not_good(f"{name} holds no context binary")


def _border(tensors: Sequence[TensorFacts]) -> list[tuple[str, str, tuple[int | str, ...]]]:
    return [(tensor.name, tensor.dtype, tensor.shape) for tensor in tensors]


def _listed(tensors: Sequence[TensorFacts]) -> str:
    return "; ".join(
        f"{t.name} {t.dtype} [{', '.join(str(size) for size in t.shape)}]" for t in tensors
    )
