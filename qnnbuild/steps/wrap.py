"""wrap: an ONNX model around what was compiled or prepared elsewhere, and its context."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.actions.plan import Plan
from qnnbuild.digest import Json
from qnnbuild.errors import NothingMatches, Problem, Span
from qnnbuild.model.recipe import Graph, InputSpec, Source, Target
from qnnbuild.steps.context import Member
from qnnbuild.toolchains.work import Toolchain

TOOLS = ("package:onnx", "package:numpy", "package:protobuf")

GENIE_INPUTS: Mapping[str, InputSpec] = {"input_ids": InputSpec(dtype="int32")}
GENIE_OUTPUTS = ("logits",)
"""As in the plugin's documentation: tokens in, logits over the vocabulary out."""


def wrap(
    target: Target, graph: Graph, source: OutputOf, *, original: OutputOf | None = None, name: str
) -> Action:
    """`source` has model.bin or model.dlc, `original` the ONNX file that it was compiled from.

    Stands where prepare and convert do, and has the outputs of prepare.
    """
    inputs: dict[str, Input] = {"model": source}
    if original is not None:
        inputs["original"] = original
    if graph.genie and graph.genie.override is not None:
        inputs["override"] = SourceFiles(patterns=(graph.genie.override,))
    own = {"original": "compiled.original", "override": "genie.override"}
    places = {name: graph.places[at] for name, at in own.items() if at in graph.places}
    borders = ("baseline",) if graph.wrapped else ()
    return Action(
        name=name,
        step="wrap",
        call=f"qnnbuild.work.{'wrap' if graph.wrapped else 'wrap_genie'}:wrap",
        params=_of_binary(graph) if graph.wrapped else _of_dlc(graph),
        inputs=inputs,
        outputs=("model", *borders, "names", "report"),
        tools=TOOLS,
        deadline_s=graph.deadline_s,
        places={**target.places, **graph.places, **places},
        group=target.model,
        about=f"an ONNX model around {graph.name}",
    )


def wrapped_context(
    target: Target, members: Sequence[Member], toolchain: Toolchain, *, name: str
) -> Action:
    """One action for all graphs of one file: it ships once."""
    first = members[0].graph
    work = toolchain.context(first, target.chip, target.context)
    return Action(
        name=name,
        step="context",
        call=work.call,
        params={
            **work.params,
            "graphs": {
                member.stem: {
                    "graph": member.graph.name,
                    "load": member.graph.verify.chips != ("none",),
                }
                for member in members
            },
        },
        inputs={
            f"model-{member.stem}": OutputOf(action=member.prepared, output="model")
            for member in members
        },
        outputs=work.outputs,
        tools=work.tools,
        env=work.env,
        deadline_s=sum(member.graph.deadline_s for member in members),
        places={**target.places, **first.places, **_each_behind_its_stem(members)},
        group=target.model,
        about=f"{', '.join(member.graph.name for member in members)} for {target.chip.name}",
    )


def check_compiled_here(plan: Plan, compiled: Action) -> None:
    """Of what was made elsewhere nobody knows the nodes."""
    if is_wrapped(plan, compiled):
        raise NothingMatches(
            f"{compiled.name} was made elsewhere: what is inside of it is not known here"
        )


def is_wrapped(plan: Plan, compiled: Action) -> bool:
    return any(plan[name].step == "wrap" for name in compiled.needs())


def _each_behind_its_stem(members: Sequence[Member]) -> dict[str, Span]:
    return {
        f"{member.stem}:{at}": span
        for member in members
        for at, span in member.graph.places.items()
    }


def original_of(graph: Graph, original: Source) -> Graph:
    """A graph that has the original as its source, for what brings it."""
    above = "compiled.original"
    places = {
        f"source{at.removeprefix(above)}": span
        for at, span in graph.places.items()
        if at.startswith(above)
    }
    return Graph(
        name=graph.name,
        source=original,
        deadline_s=graph.deadline_s,
        places={"graph": graph.places["graph"], **places},
    )


def problems(targets: Sequence[Target]) -> Iterator[Problem]:
    """What no single graph shows: files that would be for two chips, or found for two graphs."""
    chips: dict[tuple[str, Source], Target] = {}
    for target in targets:
        for graph in target.graphs:
            if graph.wrapped:
                first = chips.setdefault((target.model, graph.source), target)
                yield from _two_chips(graph, first, target)
            if graph.wrapped or graph.genie:
                yield from _compiled_together(graph, target)
        yield from _two_overrides(target)


def _compiled_together(graph: Graph, target: Target) -> Iterator[Problem]:
    for key, is_said in (
        ("multi_soc", bool(target.group)),
        ("share_weights", bool(target.context.share_weights)),
    ):
        if is_said:
            yield Problem(
                message=f"'{graph.name}' was made elsewhere, and {key} is for the compile",
                at=target.places.get(f"context.{key}", graph.places["graph"]),
                hint=f"leave {key} out",
            )


def _two_chips(graph: Graph, first: Target, other: Target) -> Iterator[Problem]:
    if first.chip.soc_model == other.chip.soc_model:
        return
    name = other.chip.name
    yield Problem(
        message=f"a context binary is for one chip, and this one would be for {first.chip.name} "
        f"and {name}",
        at=graph.source.span or graph.places["graph"],
        hint=f"only: {{{name}: {{source: …}}}} names the one for {name}",
    )


def _two_overrides(target: Target) -> Iterator[Problem]:
    told = [graph for graph in target.graphs if graph.genie]
    if len(told) > 1 and any(graph.genie and graph.genie.override for graph in told):
        yield Problem(
            message="Genie takes any tmp*.json beside a DLC, and the bundle would have "
            f"{len(told)} DLCs",
            at=told[1].places["graph"],
            hint="one model for each graph that Genie runs",
        )


def _of_binary(graph: Graph) -> dict[str, Json]:
    assert graph.wrapped is not None
    return {
        "graph": graph.wrapped.graph or graph.name,
        "given": graph.wrapped.graph is not None,
        "float_io": graph.wrapped.float_io,
        "inputs": {name: _wish(spec) for name, spec in graph.inputs.items()},
    }


def _wish(spec: InputSpec) -> dict[str, Json]:
    said: dict[str, Json] = {}
    if spec.layout is not None:
        said["layout"] = spec.layout
    if spec.range is not None:
        said["range"] = list(spec.range)
    return said


def _of_dlc(graph: Graph) -> dict[str, Json]:
    inputs = graph.inputs or GENIE_INPUTS
    outputs = {name: spec.dtype for name, spec in graph.outputs.items()}
    return {
        "inputs": [
            {
                "name": name,
                "dtype": spec.dtype or "int32",
                "shape": ["batch", "tokens"] if spec.shape is None else list(spec.shape),
                **_wish(spec),
            }
            for name, spec in inputs.items()
        ],
        "outputs": [
            {"name": name, "dtype": dtype or "float32", "shape": ["batch", "tokens", "vocabulary"]}
            for name, dtype in (outputs or dict.fromkeys(GENIE_OUTPUTS)).items()
        ],
    }
