"""An ONNX file → how a recipe has to describe its graph, by the checks that prepare makes, too."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from onnx import ModelProto

from qnnbuild.errors import RecipeError, did_you_mean
from qnnbuild.importing.sizes import Settled, Sizes, settle
from qnnbuild.importing.table_rows import rows_read
from qnnbuild.work import borders, names, shapes, versions
from qnnbuild.work.branches import take_branches
from qnnbuild.work.casts import cast_graph
from qnnbuild.work.fold import ASIDE_FROM, put_back, simplify, weights_aside
from qnnbuild.work.model_bytes import load_side_files, stored_bytes
from qnnbuild.work.node_facts import DEQUANTIZE
from qnnbuild.work.onnx_files import read_whole, side_files
from qnnbuild.work.onnx_parts import check_parts
from qnnbuild.work.operators import Left, left_to_cpu
from qnnbuild.work.ranges import check_ranges
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import all_names, dtype_of, nodes, shape_of
from qnnbuild.work.wrong_numbers import Wrong, wrong_numbers

MAX_FOLD_BYTES = 64 << 20
OUTPUTS = re.compile(r"outputs: (\[.*\])")
"""The line of a recipe in a hint of prepare's."""

NARROWER = {"int64": "int32", "uint64": "uint32"}
"""What the NPU computes with in the place of 64 bits."""


@dataclass(frozen=True, kw_only=True)
class Input:
    """One input as the recipe has to say it; None stays as the file has it."""

    name: str
    dtype: str  # of the file
    settled: Settled | None = None
    becomes: str | None = None
    rows: int | None = None  # it chooses among so many rows of a table


@dataclass(frozen=True, kw_only=True)
class Looked:
    """What a recipe has to say so that the file builds."""

    file: Path
    side_files: tuple[str, ...]
    inputs: tuple[Input, ...]
    outputs: tuple[tuple[str, str | None], ...]  # name, and the type that it becomes
    kept: tuple[str, ...] = ()  # tensors that were asked for as outputs; the graph is cut there
    tensors: frozenset[str] = frozenset()  # of the file, with its functions inlined
    symbols: tuple[str, ...]  # the names of open dimensions
    doubles: bool
    quantized: bool
    beyond_fp16: str = ""  # the constant that fp16 cannot hold, in words
    left: tuple[Left, ...] = ()
    wrong: tuple[Wrong, ...] = ()
    notes: tuple[str, ...] = field(default=())


def look(file: Path, sizes: Sizes, archs: Sequence[int], outputs: Sequence[str] = ()) -> Looked:
    """What stands in an ONNX file, and what of it will fall to the CPU of these generations.

    Of `outputs` those that the file has are kept, and the rest is cut away. Raises RecipeError
    for what no recipe can mend, in the words that prepare has for it.
    """
    try:
        check_parts(file)
        return _look(file, sizes, archs, outputs)
    except WorkError as error:
        raise _as_recipe_error(file, error) from None


def check_kept(outputs: Sequence[str], looks: Sequence[Looked]) -> None:
    """Each of `outputs` is a tensor of one of the files."""
    known = {name for looked in looks for name in looked.tensors}
    for name in outputs:
        if not any(name in looked.kept for looked in looks):
            raise RecipeError(
                f"--output {name}: there is no such tensor", hint=did_you_mean(name, sorted(known))
            )


def symbols_of(model: ModelProto) -> list[str]:
    """The names of open dimensions of the inputs."""
    found = [shape_of(value) or () for value in model.graph.input]
    return list(
        dict.fromkeys(size for shape in found for size in shape if isinstance(size, str) and size)
    )


def _look(file: Path, sizes: Sizes, archs: Sequence[int], outputs: Sequence[str]) -> Looked:
    folder = file.parent.resolve()
    run = Run(params={}, inputs={}, outputs={})
    model = read_whole(folder, file.name, shown=file.name)
    sides = side_files(model)  # before it is cut: who reads the file again wants all of them
    model = _as_it_loads(model)
    tensors = frozenset(all_names(model))
    kept = tuple(name for name in dict.fromkeys(outputs) if name in tensors)
    borders.cut_outputs(model, kept)
    versions.check_known(model)
    names.check_borders(model)
    symbols, settled = symbols_of(model), _settled(model, sizes)
    wanted = {name: {"shape": list(one.shape)} for name, one in settled.items() if one}
    quantized = any(node.op_type == DEQUANTIZE for node in nodes(model))
    doubles = _has_doubles(model)
    shapes.fix_shapes(model, wanted)
    shapes.check_fixed(model)
    borders.complete_types(model, shapes.infer)
    was = {value.name: dtype_of(value) for value in (*model.graph.input, *model.graph.output)}
    model = _rewritten(run, model, folder, doubles=doubles)
    beyond = _beyond_fp16(run, model, folder)
    left = left_to_cpu(model, archs, floats_as="" if quantized or beyond else "f32")
    return Looked(
        file=file,
        side_files=tuple(sides),
        inputs=tuple(_inputs(model, was, settled)),
        outputs=tuple((v.name, NARROWER.get(was[v.name])) for v in model.graph.output),
        kept=kept,
        tensors=tensors,
        symbols=tuple(symbols),
        doubles=doubles,
        quantized=quantized,
        beyond_fp16=beyond,
        left=tuple(left),
        wrong=() if quantized or beyond else tuple(wrong_numbers(model)),
        notes=tuple(notice.message for notice in run.warnings),
    )


def _settled(model: ModelProto, sizes: Sizes) -> dict[str, Settled | None]:
    return {
        value.name: settle(value.name, shape_of(value), dtype_of(value), sizes)
        for value in model.graph.input
    }


def _inputs(
    model: ModelProto, was: Mapping[str, str], settled: Mapping[str, Settled | None]
) -> Iterator[Input]:
    for value in model.graph.input:
        yield Input(
            name=value.name,
            dtype=was[value.name],
            settled=settled[value.name],
            becomes=NARROWER.get(was[value.name]),
            rows=rows_read(model, value.name),
        )


def _as_it_loads(model: ModelProto) -> ModelProto:
    """As the first lines of prepare: whatever they refuse, no recipe mends."""
    versions.check_versions(model)
    versions.raise_ir(model)
    borders.drop_stored_inputs(model)
    model, _ = versions.inline_functions(model)
    versions.complete_imports(model)
    names.check_single_makers(model)
    names.sort_nodes(model)
    names.name_nodes(model)
    return model


def _rewritten(run: Run, model: ModelProto, folder: Path, *, doubles: bool) -> ModelProto:
    """As prepare hands it to the compiler, but for the recipe's repairs."""
    load_side_files(model, folder, below=ASIDE_FROM)
    before = stored_bytes(model)
    if doubles:
        cast_graph(model, {"float64": "float32"})
    with weights_aside(model) as aside:
        model, _ = take_branches(shapes.infer(model))
        model = shapes.infer(simplify(run, model, before=before, max_fold_bytes=MAX_FOLD_BYTES))
        names.name_nodes(model)
        borders.type_borders(model, _narrower(model.graph.input), {})
        model = shapes.infer(model)
        put_back(model, aside)
    names.name_nodes(model)
    return model


def _narrower(values: Any) -> dict[str, dict[str, str]]:
    found = {value.name: NARROWER.get(dtype_of(value)) for value in values}
    return {name: {"dtype": dtype} for name, dtype in found.items() if dtype}


def _has_doubles(model: ModelProto) -> bool:
    try:
        borders.check_no_doubles(model)
    except WorkError:
        return True
    return False


def _beyond_fp16(run: Run, model: ModelProto, folder: Path) -> str:
    """The weight that fp16 cannot hold. What is wrong in every precision is raised."""
    check_ranges(run, model, folder, fp16=False)
    try:
        check_ranges(run, model, folder, fp16=True)
    except WorkError as error:
        return error.message
    return ""


def _as_recipe_error(file: Path, error: WorkError) -> RecipeError:
    hint = error.hint
    if error.place.startswith("inputs") and hint and "shape" in hint:
        hint = "--shape NAME=1,3,224,224 or --dim NAME=224 with the sizes that it was trained for"
    elif hint and (listed := OUTPUTS.search(hint)):
        kept = yaml.safe_load(listed[1])
        options = " ".join(f"--output {shlex.quote(name)}" for name in kept)
        hint = hint.replace(listed[0], options)
    return RecipeError(
        f"{file.name}: {error.message}", facts=[*error.facts, ("file", str(file))], hint=hint
    )
