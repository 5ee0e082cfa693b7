"""prepare: a graph's ONNX file as the compiler takes it, whatever the chip and the toolchain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.digest import Json
from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import Graph, InputSpec, Target
from qnnbuild.model.sdks import is_sdk
from qnnbuild.work.repairs.catalogue import REPAIRS

TOOLS = (
    "package:onnx",
    "package:onnxsim",
    "package:onnxruntime",
    "package:numpy",
    "package:protobuf",  # writes the model
)


def prepare(
    target: Target, graph: Graph, source: OutputOf, name: str, packages: str | None = None
) -> Action:
    """`source` is the action that has the ONNX file: its output has model.onnx and side files.

    `packages` is the action that knows operators of the user's own.
    """
    inputs: dict[str, Input] = {"model": source}
    if graph.samples:
        inputs["samples"] = SourceFiles(patterns=graph.samples)
    if packages is not None:
        inputs["operators"] = OutputOf(action=packages, output="operators")
    return Action(
        name=name,
        step="prepare",
        call="qnnbuild.work.prepare:prepare",
        params=params(graph, target.toolchain),
        inputs=inputs,
        outputs=("model", "baseline", "names", "report"),
        tools=TOOLS,
        deadline_s=graph.deadline_s,
        places={**target.places, **graph.places},
        group=target.model,
        about=f"fix shapes, simplify and check {graph.name}",
    )


def params(graph: Graph, toolchain: str) -> Mapping[str, Json]:
    """What of a graph can change the prepared model; work/prepare.py reads exactly this.

    Of the precision only whether fp16 computes it matters, so that w8a8 and w8a16 share one run.
    """
    return {
        "inputs": {name: _wish(spec) for name, spec in graph.inputs.items()},
        "outputs": [{"name": name, "dtype": spec.dtype} for name, spec in graph.outputs.items()],
        "constants": dict(graph.constants),
        "cast": dict(_cast(graph)),
        "repairs": list(graph.repairs),
        "simplify": graph.simplify,
        "max_fold_bytes": graph.max_fold_bytes,
        "fp16": _is_in_half(graph, toolchain),
        "cpu_fallback": graph.cpu_fallback,
        **_judged(graph),
    }


def _is_in_half(graph: Graph, toolchain: str) -> bool:
    """The SDK has the HTP compute a float32 graph in fp16, too: model/verify.py."""
    return graph.precision == "fp16" or (graph.precision == "fp32" and is_sdk(toolchain))


def _cast(graph: Graph) -> Mapping[str, str]:
    """The HTP's compiler chooses fp16 itself; a GPU calculates in the types that the file has."""
    in_half = graph.backend == "gpu" and graph.precision == "fp16"
    return {**({"float32": "float16"} if in_half else {}), **graph.cast}


def _judged(graph: Graph) -> dict[str, Json]:
    """Outputs with bars of their own, so that a wrong name is found before anything is compiled.

    Their names and not their bars: to judge otherwise prepares nothing again.
    """
    return {"judged": sorted(graph.verify.outputs)} if graph.verify.outputs else {}


def _wish(spec: InputSpec) -> dict[str, Json]:
    """Only what the recipe says: what is None stays as the file has it."""
    said: dict[str, Json] = {}
    if spec.shape is not None:
        said["shape"] = list(spec.shape)
    if spec.dtype is not None:
        said["dtype"] = spec.dtype
    if spec.layout is not None:
        said["layout"] = spec.layout
    if spec.range is not None:
        said["range"] = list(spec.range)
    return said


def problems(graph: Graph) -> Iterable[Problem]:
    """What of a graph's wishes cannot be meant, whatever the ONNX file is."""
    for name in graph.repairs:
        if name not in REPAIRS:
            yield Problem(
                message=f"no repair is named '{name}'",
                at=graph.places.get("repairs"),
                hint=did_you_mean(name, REPAIRS, otherwise=f"all repairs: {', '.join(REPAIRS)}"),
            )
    for name in sorted(set(graph.inputs) & set(graph.constants)):
        yield Problem(
            message=f"'{name}' stands under inputs and under constants",
            at=graph.places.get(f"constants.{name}", graph.places.get("constants")),
            hint="a constant is no input any more: keep one of the two",
        )
