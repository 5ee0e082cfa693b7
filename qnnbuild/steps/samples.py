"""feeds, calibrate, samples, references: whatever a recipe names becomes one checked file a sample.

calibrate and samples are one kind of work under two names: what is said twice is done once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from qnnbuild.actions.action import Action, Input, OutputOf, SampleFiles, SourceFiles
from qnnbuild.digest import Json
from qnnbuild.errors import Span
from qnnbuild.model.recipe import Graph, Samples, Target
from qnnbuild.steps.export import ALL_PACKAGES, ENVS, EXPORT_DEADLINE_S, exported
from qnnbuild.steps.fetch import PIP

RANDOM_SAMPLES = 2
"""How many random ones there are when the recipe gives no samples at all."""

PILLOW = "package:pillow"

CALIBRATION = "calibration"
INPUTS = "verify.inputs"
REFERENCE = "verify.reference"
"""Where a recipe speaks of each: names of places."""


def feeds(target: Target, graph: Graph, samples: Samples, name: str) -> Action:
    """Run the user's Python file. Only the axes that divide this graph are given to it."""
    python = samples.python
    if python is None:
        raise ValueError("these samples are not from Python")
    inputs: dict[str, Input] = {"needs": SourceFiles(patterns=(python.file, *python.needs))}
    if python.requirements is not None:
        inputs["requirements"] = SourceFiles(patterns=(python.requirements,))
    own = python.requirements is not None
    said = CALIBRATION if samples is graph.calibration else INPUTS
    return Action(
        name=name,
        step="feeds",
        call="qnnbuild.work.user_feeds:user_feeds",
        params={
            "file": python.file,
            "function": python.function,
            "axes": {axis: target.axes[axis] for axis in graph.axes_used if axis in target.axes},
            "at_most": samples.at_most,
        },
        inputs=inputs,
        outputs=("feeds",),
        tools=("python", "package:numpy") if own else ("python", ALL_PACKAGES),
        passes=(*PIP, ENVS) if own else (),
        deadline_s=max(graph.deadline_s, EXPORT_DEADLINE_S),
        places=_places(graph, said, ("needs", "requirements")),
        group=target.model,
        about=f"what {python.function}() of {python.file} yields",
    )


def calibrate(
    target: Target,
    graph: Graph,
    *,
    prepared: str,
    name: str,
    feeds: str | None = None,
    source: str = "",
) -> Action:
    """What quantizing measures. `prepared`, `feeds` and `source` are names of actions."""
    return _collect(
        target,
        graph,
        graph.calibration or Samples(),
        prepared=prepared,
        feeds=feeds,
        source=source,
        name=name,
        said=CALIBRATION,
    )


def samples(
    target: Target,
    graph: Graph,
    *,
    prepared: str,
    name: str,
    feeds: str | None = None,
    source: str = "",
) -> Action:
    """What the binary is run with; random numbers when the recipe gives nothing."""
    return _collect(
        target,
        graph,
        graph.verify.samples,
        prepared=prepared,
        feeds=feeds,
        source=source,
        name=name,
        said=INPUTS,
    )


def references(target: Target, graph: Graph, *, prepared: str, samples: str, name: str) -> Action:
    """Recorded outputs of the original framework; `samples` is the action with their inputs."""
    patterns = graph.verify.reference
    at = _span(graph, REFERENCE)
    return Action(
        name=name,
        step="references",
        call="qnnbuild.work.recorded:recorded",
        params={"patterns": list(patterns)},
        inputs={
            "model": OutputOf(action=prepared, output="model"),
            "files": SampleFiles(patterns=patterns),
            "samples": OutputOf(action=samples, output="report"),
        },
        outputs=("recorded", "report"),
        tools=("package:numpy",),
        deadline_s=graph.deadline_s,
        places={**graph.places, **dict.fromkeys(("reference", "samples", "files"), at)}
        if at
        else graph.places,
        group=target.model,
        about=f"recorded outputs of {graph.name}",
    )


def _collect(
    target: Target,
    graph: Graph,
    given: Samples,
    *,
    prepared: str,
    feeds: str | None,
    source: str,
    name: str,
    said: str,
) -> Action:
    inputs: dict[str, Input] = {"model": OutputOf(action=prepared, output="model")}
    if given.files:
        inputs["files"] = SampleFiles(patterns=given.files)
    if made := exported(given.exported, source):
        inputs["files"] = made
    if feeds is not None:
        inputs["feeds"] = OutputOf(action=feeds, output="feeds")
    return Action(
        name=name,
        step="samples",  # the step is part of the key: one name for one kind of work
        call="qnnbuild.work.samples_files:collect",
        params=params(graph, given, calibrates=said == CALIBRATION),
        inputs=inputs,
        outputs=("feeds", "report"),
        tools=("package:numpy", PILLOW) if given.images else ("package:numpy",),
        deadline_s=max(graph.deadline_s, EXPORT_DEADLINE_S),
        places=_places(graph, said, ("files",)),
        group=target.model,
        about=f"check the inputs that {graph.name} is {_used(said)} with",
    )


def _used(said: str) -> str:
    return "calibrated" if said == CALIBRATION else "verified"


def params(graph: Graph, given: Samples, *, calibrates: bool) -> Mapping[str, Json]:
    """What can change the samples; work/samples_files.py reads exactly this."""
    count = given.random
    if count is None and not (given.files or given.exported) and given.python is None:
        count = max(RANDOM_SAMPLES, given.at_least)
    ranges = {name: list(spec.range) for name, spec in graph.inputs.items() if spec.range}
    return {
        "patterns": list(given.files or given.exported),
        "raw": {n: {"dtype": r.dtype, "shape": list(r.shape)} for n, r in given.raw.items()},
        "images": asdict(given.images) if given.images else None,
        "random": count,
        "ranges": ranges if count else {},
        "at_least": given.at_least,
        "at_most": given.at_most,
        "may_be_constant": list(given.may_be_constant),
        "tell_random": bool(count) and calibrates,
    }


def _places(graph: Graph, said: str, inputs: tuple[str, ...]) -> dict[str, Span]:
    """Of what the user wrote, the part about these samples, called `samples`."""
    at = _span(graph, said)
    if at is None:
        return dict(graph.places)
    below = {
        f"samples{place.removeprefix(said)}": span
        for place, span in graph.places.items()
        if place.startswith(f"{said}.")
    }
    # a package that images need is told of where they are asked for
    images = {PILLOW: below.get("samples.images", at)}
    return {**graph.places, "samples": at, **dict.fromkeys(inputs, at), **below, **images}


def _span(graph: Graph, place: str) -> Span | None:
    while place:
        if place in graph.places:
            return graph.places[place]
        place = place.rpartition(".")[0]
    return None
