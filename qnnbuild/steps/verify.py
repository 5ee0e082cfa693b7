"""reference, verify, metric, verdict: what ships is run and judged before it ships."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Bars, Graph, Metric, Target, Verify
from qnnbuild.steps.doing import doing
from qnnbuild.toolchains.work import Toolchain

ALL_PACKAGES = "packages"
"""A tool: name and version of every distribution that this Python can import."""


def reference(
    target: Target,
    graph: Graph,
    *,
    prepared: str,
    samples: OutputOf,
    recorded: OutputOf | None = None,
    name: str,
) -> Action:
    """`prepared` is the prepare action's name; the others are outputs with a file a sample."""
    inputs: dict[str, Input] = {
        "baseline": OutputOf(action=prepared, output="baseline"),
        "samples": samples,
    }
    if recorded is not None:
        inputs["recorded"] = recorded
    return Action(
        name=name,
        step="reference",
        call="qnnbuild.work.reference:reference",
        inputs=inputs,
        outputs=("reference",),
        tools=("package:onnxruntime", "package:onnx", "package:numpy"),
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} on the CPU",
    )


def verify(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    *,
    compiled: str,
    stem: str,
    alone: bool = False,
    referred: str,
    samples: OutputOf,
    recorded: OutputOf | None = None,
    packages: str | None = None,
    name: str,
) -> Action:
    """`stem` says which graph of `compiled` is run; `alone` that it is run as compiled alone."""
    work = toolchain.verify(graph, target.chip, stem)
    inputs: dict[str, Input] = {
        "context": OutputOf(action=compiled, output="alone" if alone else "context"),
        "facts": OutputOf(action=compiled, output="alone-facts" if alone else "facts"),
        "samples": samples,
        "reference": OutputOf(action=referred, output="reference"),
    }
    if recorded is not None:
        inputs["recorded"] = recorded
    inputs |= {"packages": OutputOf(action=packages, output="here")} if packages else {}
    return doing(
        work,
        target,
        graph,
        name=name,
        step="verify",
        inputs=inputs,
        about=f"run {graph.name} as {target.chip.name}",
    )


def metric(
    target: Target,
    graph: Graph,
    measure: Metric,
    *,
    verified: str,
    referred: str,
    samples: OutputOf,
    name: str,
) -> Action:
    """The user's function on the outputs of `verified`, a verify action's name."""
    return Action(
        name=name,
        step="metric",
        call="qnnbuild.work.metric:metric",
        params={"name": measure.name, "file": measure.file, "function": measure.function},
        inputs={
            "code": SourceFiles(patterns=(measure.file, *measure.needs)),
            "outputs": OutputOf(action=verified, output="outputs"),
            "reference": OutputOf(action=referred, output="reference"),
            "samples": samples,
        },
        outputs=("values",),
        tools=("python", ALL_PACKAGES),
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{measure.name} of {graph.name} on {target.chip.name}",
    )


def verdict(
    target: Target,
    graph: Graph,
    *,
    verified: str,
    metrics: Mapping[str, str],
    has_layers: bool = True,
    name: str,
) -> Action:
    """`metrics` are names of metric actions by the metric's name. A bar changes only this.

    `has_layers` says whether `qnnbuild debug` can look at them.
    """
    inputs: dict[str, Input] = {"numbers": OutputOf(action=verified, output="numbers")}
    for measure, action in metrics.items():
        inputs[f"values-{measure}"] = OutputOf(action=action, output="values")
    return Action(
        name=name,
        step="verdict",
        call="qnnbuild.work.verdict:verdict",
        params={
            "graph": graph.name,
            "chip": target.chip.name,
            "debug": verified if has_layers and not graph.wrapped else None,
            "bars": bars_of(graph.verify),
            "metrics": {
                one.name: {"at_least": one.at_least, "at_most": one.at_most}
                for one in graph.verify.metrics
                if one.name in metrics
            },
        },
        inputs=inputs,
        outputs=("verdict",),
        places=graph.places,
        group=target.model,
        about=f"is {graph.name} good enough on {target.chip.name}",
    )


def bars_of(verify: Verify) -> dict[str, Json]:
    """As work/bars.py reads them: those of all outputs, and of single ones below "outputs"."""
    told = _as_json(verify.bars)
    if verify.outputs:
        told["outputs"] = {
            name: {"excused": one.excused} if one.excused is not None else _as_json(one.bars)
            for name, one in verify.outputs.items()
        }
    return told


def _as_json(bars: Bars) -> dict[str, Json]:
    return {name: value for name, value in asdict(bars).items() if value is not None}
