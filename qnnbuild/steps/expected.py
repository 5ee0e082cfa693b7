"""expect: a graph that is known to fail on a chip. It makes no bundle; that it works is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qnnbuild.actions.action import Action, Input
from qnnbuild.digest import Json
from qnnbuild.model.recipe import ExpectedFailure, Graph, Target

CALLS = {
    "qnnbuild.work.context_ort:context": "qnnbuild.work.expected_ort:expected",
    "qnnbuild.work.qairt_context:context": "qnnbuild.work.expected_qairt:expected",
}
"""How a context is compiled → what does this, runs and judges it, and wants one of it to fail."""

MARGIN_S = 60.0

SHARED = ("samples", "reference", "recorded")


@dataclass(frozen=True, kw_only=True)
class Steps:
    """The actions that a good graph would get. They are parts of the one here, in no plan."""

    compiled: Action
    verified: Action | None = None  # None: nothing is run
    metrics: Mapping[str, Action] = field(default_factory=dict)
    judged: Action | None = None


def expected_name(target: Target, graph: Graph) -> str:
    variant = f"/{target.variant}" if target.variant else ""
    return f"expect/{target.model}/{graph.name}{variant}@{target.chip.name}"


def expected(target: Target, graph: Graph, steps: Steps, failure: ExpectedFailure) -> Action:
    """One action for all of `steps`; good when one of them fails."""
    inputs: dict[str, Input] = dict(steps.compiled.inputs)
    tools = steps.compiled.tools
    if steps.verified is not None:
        given = steps.verified.inputs
        inputs |= {name: given[name] for name in SHARED if name in given}
        tools += steps.verified.tools
    for measure, action in steps.metrics.items():
        inputs[f"code-{measure}"] = action.inputs["code"]
        tools += action.tools
    return Action(
        name=expected_name(target, graph),
        step="expect",
        call=CALLS[steps.compiled.call or ""],
        params={
            "context": dict(steps.compiled.params),
            "verify": _params(steps.verified),
            "metrics": {name: _params(action) for name, action in steps.metrics.items()},
            "verdict": _params(steps.judged),
            "reason": failure.reason,
            "issue": failure.issue,
            # here it decides what is made, so it is in the key as it is in no other action's
            "deadline_s": graph.deadline_s,
        },
        inputs=inputs,
        outputs=("failure",),
        tools=tuple(dict.fromkeys(tools)),
        env=steps.compiled.env,
        passes=steps.compiled.passes,
        deadline_s=_time_for_all(graph, steps),
        places=graph.places,
        group=target.model,
        about=f"{graph.name} fails on {target.chip.name}: {failure.reason}",
    )


def _time_for_all(graph: Graph, steps: Steps) -> float:
    """So much that a step which is late is a known failure before the action itself is late."""
    parts = (steps.compiled, steps.verified, *steps.metrics.values(), steps.judged)
    return MARGIN_S + graph.deadline_s * sum(part is not None for part in parts)


def _params(action: Action | None) -> dict[str, Json] | None:
    return None if action is None else dict(action.params)
