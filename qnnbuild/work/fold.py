"""Simplification: onnxsim, kept from growing the model and from meeting protobuf's 2 GiB."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator

import onnxsim
from onnx import ModelProto, TensorProto, helper

from qnnbuild.work.model_bytes import INLINE_LIMIT, stored_bytes
from qnnbuild.work.onnx_files import side_pieces
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.shapes import first_line

ASIDE_FROM = 1 << 20
"""Weights of at least this many bytes are set aside when the model is too big for one message."""

SMALL_FOLD = "64KB"
"""What may still be folded where folding everything would blow the model up."""


def simplify(run: Run, model: ModelProto, *, before: int, max_fold_bytes: int) -> ModelProto:
    """Fold what does not depend on the inputs. Growth beyond the limit is told and not kept.

    `before` is the size in bytes that growth is counted from.
    """
    try:
        simple = _onnxsim(model, "1.5GB")
        after = stored_bytes(simple)
    except ValueError:  # what protobuf raises beyond 2 GiB
        simple, after = model, before + INLINE_LIMIT
    if after - before < max_fold_bytes:
        return simple
    less = _onnxsim(model, SMALL_FOLD)
    kept = stored_bytes(less)
    run.warn(
        f"folding constants grows the model from {readable(before)} to {readable(after)}; "
        f"big constants were left to be computed: {readable(kept)} are kept",
        place="simplify",
    )
    return less if kept < after else simple


def _onnxsim(model: ModelProto, threshold: str) -> ModelProto:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            simple, _ = onnxsim.simplify(model, check_n=0, tensor_size_threshold=threshold)
    except (RuntimeError, AssertionError) as error:
        raise WorkError(
            "onnxsim cannot simplify the model",
            facts=[("onnxsim says", first_line(error))],
            hint="write simplify: false to leave the graph as it is",
        ) from None
    assert isinstance(simple, ModelProto)
    return simple


@contextlib.contextmanager
def weights_aside(model: ModelProto) -> Iterator[list[TensorProto]]:
    """Hold the big weights of a model above 2 GiB outside, as inputs, while it is worked on.

    Fills the list; `put_back` ends it. Below the limit nothing moves.
    """
    aside: list[TensorProto] = []
    if stored_bytes(model) > INLINE_LIMIT:
        outside = {piece.tensor for piece in side_pieces(model)}
        for index in reversed(range(len(model.graph.initializer))):
            tensor = model.graph.initializer[index]
            if tensor.name in outside or len(tensor.raw_data) >= ASIDE_FROM:
                held = TensorProto()
                held.CopyFrom(tensor)
                aside.append(held)
                given = helper.make_tensor_value_info(
                    tensor.name, tensor.data_type, list(tensor.dims)
                )
                model.graph.input.append(given)
                del model.graph.initializer[index]
    yield aside


def put_back(model: ModelProto, aside: list[TensorProto]) -> None:
    """Make what was held outside weights again, but for those that nothing reads any more."""
    by_name = {tensor.name: tensor for tensor in aside}
    for index in reversed(range(len(model.graph.input))):
        if model.graph.input[index].name in by_name:
            del model.graph.input[index]
    used = {name for node in model.graph.node for name in node.input}
    used |= {value.name for value in model.graph.output}
    for name in sorted(by_name):
        if name in used:
            model.graph.initializer.append(by_name[name])


def readable(size: int) -> str:
    """ "240 bytes", "64 MiB"."""
    if size < 1 << 12:
        return f"{size} bytes"
    for unit in ("KiB", "MiB", "GiB"):
        size_in = size / (1 << {"KiB": 10, "MiB": 20, "GiB": 30}[unit])
        if size_in < 1024 or unit == "GiB":
            break
    return f"{size_in:.3g} {unit}"
