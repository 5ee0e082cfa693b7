"""debug: an action outside of every plan that looks at the layers of one graph on one chip."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import NothingMatches
from qnnbuild.steps.members import member_of
from qnnbuild.steps.wrap import check_compiled_here

CALLS = {"qnnbuild.work.context_ort:context": "qnnbuild.work.debug:debug"}
"""How a context is compiled → what looks at the layers of such a compile."""

BORDERS_ALONE = ("qnnbuild.work.qairt_context:context",)
"""Compiles whose binaries are run as they are: only inputs and outputs can be looked at."""


def debug(plan: Plan, name: str, *, sample: int, bar_db: float, alone: bool = False) -> Action:
    """For the one context that the action `name` is, stands on, or is made from."""
    shipped = plan[_context(plan, name)]
    compiled = member_of(shipped, name)
    call = _looking(plan, compiled)
    model, names = compiled.inputs["model"], compiled.inputs["names"]
    assert isinstance(names, OutputOf)
    prepared = OutputOf(action=names.action, output="model")
    return Action(
        name=f"debug/{compiled.name.partition('/')[2]}",
        step="debug",
        call=call,
        params={
            "soc_model": compiled.params["soc_model"],
            "options": compiled.params["options"],
            "cpu_fallback": compiled.params["cpu_fallback"],
            "quantized": _is_quantized(plan, model, prepared),
            "sample": sample,
            "bar_db": bar_db,
            "alone": alone,
        },
        inputs={
            "model": model,
            "prepared": prepared,
            "names": names,
            "samples": _samples(plan, shipped, compiled, names.action),
        },
        outputs=("layers",),
        tools=compiled.tools,
        deadline_s=compiled.deadline_s,
        places=compiled.places,
        group=compiled.group,
        about=f"the layers of {compiled.name}",
    )


def _looking(plan: Plan, compiled: Action) -> str:
    """What looks at the layers of this compile."""
    check_compiled_here(plan, compiled)
    if compiled.call in BORDERS_ALONE:
        raise NothingMatches(
            f"the layers of {compiled.name} cannot be looked at: a binary of Qualcomm's SDK is "
            "run as it is, and tells its outputs alone",
            hint="toolchain: ort for the same graph, while you look",
        )
    call = CALLS.get(compiled.call or "")
    if call is None:
        raise NothingMatches(f"the layers of {compiled.name} cannot be looked at: no emulator")
    return call


def _context(plan: Plan, name: str) -> str:
    needed = [a.name for a in plan.upto([name]) if a.step == "context"]
    found = needed or [n for n in plan.dependents(name) if plan[n].step == "context"]
    if len(found) != 1:
        shown = ", ".join(sorted(found)[:4]) + (", …" if len(found) > 4 else "")
        raise NothingMatches(
            f"{name} is about {len(found)} compiled graphs, one is wanted",
            facts=[("they are", shown)] if found else (),
            hint="name a graph and its chip: context/silero-vad/vad@SM8750",
        )
    return found[0]


def verified_by(plan: Plan, debugged: Action) -> str | None:
    """The action that has the numbers of what ships, where this chip is verified."""
    for action in plan:
        source = action.inputs.get("context")
        if action.step != "verify" or not isinstance(source, OutputOf):
            continue
        compiled = member_of(plan[source.action], action.name)
        if (
            compiled.params.get("soc_model") == debugged.params["soc_model"]
            and compiled.inputs.get("model") == debugged.inputs["model"]
            and action.inputs.get("samples") == debugged.inputs["samples"]
        ):
            return action.name
    return None


def _is_quantized(plan: Plan, model: object, prepared: OutputOf) -> bool:
    """Whether what is compiled is computed in whole numbers and not in floats."""
    converted = plan[model.action] if isinstance(model, OutputOf) else plan[prepared.action]
    return converted.call != "qnnbuild.work.convert_ort:convert" or bool(
        converted.params.get("quantized")
    )


def _samples(plan: Plan, shipped: Action, compiled: Action, prepared: str) -> OutputOf:
    """Those that the binary is verified with; else any that were made for the same graph."""
    for source in (*_verified_with(plan, shipped, compiled), *_made_for(plan, prepared)):
        return source
    raise NothingMatches(
        f"there are no samples to run {compiled.name} with", hint="verify: {chips: generations}"
    )


def _verified_with(plan: Plan, shipped: Action, compiled: Action) -> Iterator[OutputOf]:
    """Of a shared context those of the graph that is looked at."""
    for name in plan.dependents(shipped.name):
        source = plan[name].inputs.get("samples")
        if plan[name].step != "verify" or not isinstance(source, OutputOf):
            continue
        if member_of(shipped, name).name == compiled.name:
            yield source


def _made_for(plan: Plan, prepared: str) -> Iterator[OutputOf]:
    for name in plan.dependents(prepared):
        if plan[name].step == "samples":
            yield OutputOf(action=name, output="feeds")
