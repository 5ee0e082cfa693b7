"""What came of the last build: of its actions, and of each cell. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping

from qnnbuild.actions.plan import Plan
from qnnbuild.report.cells import bundles_of
from qnnbuild.report.standing import LastRun
from qnnbuild.report.told import RanTold, RunTold

MOST_RAN = 2_000
"""So many actions have a place in the picture of a run; more are counted."""

CUT_OFF = "cut off"
RAN = ("made", CUT_OFF, "failed")


def came(plan: Plan, run: LastRun) -> RunTold:
    """Of actions that the recipes have no more nothing is told but how many they were."""
    known = {name: one for name, one in run.actions.items() if name in plan}
    longest = sorted(known, key=lambda name: known[name].began - known[name].ended)[:MOST_RAN]
    told = [
        RanTold(action=name, step=plan[name].step, **vars(known[name]))
        for name in sorted(longest, key=lambda name: (known[name].began, name))
    ]
    return RunTold(
        began=run.began,
        seconds=run.seconds,
        counts=Counter(one.how for one in run.actions.values()),
        times=_times(plan, run),
        came=_cells(plan, run),
        ran=tuple(told),
        left_out=len(run.actions) - len(told),
    )


def _times(plan: Plan, run: LastRun) -> Mapping[str, float]:
    times: defaultdict[str, float] = defaultdict(float)
    for name, one in run.actions.items():
        if name in plan and one.how in RAN:
            times[plan[name].step] += one.seconds
    return {step: round(seconds, 3) for step, seconds in times.items()}


def _cells(plan: Plan, run: LastRun) -> Mapping[str, str]:
    """A cell is as its bundle; where that was current all the same, something was cut off."""
    ran_below: dict[str, bool] = {}
    for action in plan:
        one = run.actions.get(action.name)
        ran = one is not None and one.how in RAN
        ran_below[action.name] = ran or any(ran_below[need] for need in action.needs())
    found = {}
    for (model, variant, chip), bundle in bundles_of(plan).items():
        one = run.actions.get(bundle.name)
        how = one.how if one is not None else "reused"
        if how == "reused" and ran_below[bundle.name]:
            how = CUT_OFF
        if how != "reused":
            found[f"{model}/{variant}@{chip}" if variant else f"{model}@{chip}"] = how
    return found
