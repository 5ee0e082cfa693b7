"""Pictures of the last build: what ran when and where, and what did not have to. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.report.figure import BAD, FAINT, GOOD, PLAIN, SERIES, Figure
from qnnbuild.report.summary import Told
from qnnbuild.text.amounts import duration

LANE_PX = 26
SHORTEST_WAIT = 0.01
"""Of the build's whole time: shorter waits would not be seen."""

LEAST_SAVED = 0.005
"""Of all work: what is less comes of rounding."""

RAN = ("made", "cut off", "failed")
THIS_MACHINE = "lane"
MOST_STEPS = len(SERIES)


def of_build(told: Told) -> list[Figure]:
    run = told.get("run")
    return [*(_timeline(run) if run else ()), *_saved(told)]


def _timeline(run: Told) -> Iterator[Figure]:
    ran = [one for one in run["ran"] if one["how"] in RAN]
    if not ran:
        return
    lanes = lanes_of(ran)
    names = list(dict.fromkeys(sorted(lanes.values(), key=_by_number)))
    unit, per = _unit(run["seconds"])
    steps = _steps(ran)
    traces = [_waits(ran, lanes, run["seconds"], per)]
    traces += [
        _bars(step, ones, lanes, per, colour)
        for (step, ones), colour in zip(steps.items(), SERIES, strict=False)
    ]
    yield Figure(
        id="timeline",
        title="Where the time went",
        about=_about(run, ran, names),
        traces=[trace for trace in traces if trace["x"]],
        layout={
            "barmode": "overlay",
            "bargap": 0.25,
            "xaxis": {"title": {"text": f"{unit} after the begin"}, "rangemode": "tozero"},
            "yaxis": {
                "autorange": "reversed", "type": "category", "categoryorder": "array",
                "categoryarray": names, "automargin": True,
            },
        },
        height=150 + LANE_PX * len(names),
    )  # fmt: skip


def lanes_of(ran: Sequence[Told]) -> dict[str, str]:
    """Action → its lane: of each worker as many as it did at once."""
    free: dict[tuple[str, int], float] = {}
    lanes = {}
    for one in sorted(ran, key=lambda one: (one["began"], one["action"])):
        number = 1
        while free.get((one["worker"], number), 0.0) > one["began"]:
            number += 1
        free[one["worker"], number] = one["ended"]
        lanes[one["action"]] = f"{one['worker'] or THIS_MACHINE} {number}"
    return lanes


def _by_number(lane: str) -> tuple[str, int]:
    name, _, number = lane.rpartition(" ")
    return name, int(number)


def _steps(ran: Sequence[Told]) -> dict[str, list[Told]]:
    """Those that took longest first; what has no colour of its own goes together."""
    found: defaultdict[str, list[Told]] = defaultdict(list)
    # what failed comes last: a legend has the colour of the first
    for one in sorted(ran, key=lambda one: one["how"] == "failed"):
        found[one["step"]].append(one)
    order = sorted(found, key=lambda step: -sum(one["seconds"] for one in found[step]))
    if len(order) <= MOST_STEPS:
        return {step: found[step] for step in order}
    told = {step: found[step] for step in order[: MOST_STEPS - 1]}
    rest = [one for step in order[MOST_STEPS - 1 :] for one in found[step]]
    return {**told, "other steps": rest}


def _bars(
    step: str, ran: Sequence[Told], lanes: Mapping[str, str], per: float, colour: str
) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": step,
        "y": [lanes[one["action"]] for one in ran],
        "base": [round((one["ended"] - one["seconds"]) / per, 4) for one in ran],
        "x": [round(one["seconds"] / per, 4) for one in ran],
        "text": [_told(one) for one in ran],
        "textposition": "none",
        "marker": {
            "color": [BAD if one["how"] == "failed" else colour for one in ran]
            if any(one["how"] == "failed" for one in ran)
            else colour,
        },
        "hovertemplate": "%{text}<extra></extra>",
    }


def _told(one: Told) -> str:
    return f"{one['action']}<br>{one['how']} in {duration(one['seconds'])}"


def _waits(
    ran: Sequence[Told], lanes: Mapping[str, str], seconds: float, per: float
) -> dict[str, Any]:
    """For memory, for a worker, for another action of the same key."""
    waits = [(one, one["ended"] - one["seconds"] - one["began"]) for one in ran]
    seen = [(one, wait) for one, wait in waits if wait > SHORTEST_WAIT * seconds]
    return {
        "type": "bar",
        "orientation": "h",
        "name": "waits",
        "y": [lanes[one["action"]] for one, _ in seen],
        "base": [round(one["began"] / per, 4) for one, _ in seen],
        "x": [round(wait / per, 4) for _, wait in seen],
        "text": [f"{one['action']}<br>waits {duration(wait)}" for one, wait in seen],
        "textposition": "none",
        "opacity": 0.35,
        "marker": {"color": FAINT},
        "hovertemplate": "%{text}<extra></extra>",
    }


def _unit(seconds: float) -> tuple[str, float]:
    for unit, per in (("hours", 3600.0), ("minutes", 60.0)):
        if seconds > 2 * per:
            return unit, per
    return "seconds", 1.0


def _about(run: Told, ran: Sequence[Told], lanes: Sequence[str]) -> str:
    longest = max(ran, key=lambda one: one["seconds"])
    work = sum(run["times"].values())
    busy = work / (run["seconds"] * len(lanes)) if run["seconds"] else 0.0
    said = (
        f"The build of {run['began'].replace('T', ' ').replace('+00:00', ' UTC')} took "
        f"{duration(run['seconds'])}, {duration(work)} of work on {len(lanes)} "
        f"{'lane' if len(lanes) == 1 else 'lanes'}, {min(busy, 1.0):.0%} of them busy; longest was "
        f"{longest['action']} ({duration(longest['seconds'])})."
    )
    left = run["left_out"]
    return said + (f" The {left:,} shortest actions have no bar." if left else "")


def _saved(told: Told) -> Iterator[Figure]:
    """By step: the seconds that ran, and those that records say it would have taken."""
    whole: defaultdict[str, float] = defaultdict(float)
    for model in told["models"]:
        for step, seconds in model.get("times", {}).items():
            whole[step] += seconds
    run = told.get("run")
    ran = run["times"] if run else {}
    steps = sorted({*whole, *ran}, key=lambda step: -max(whole[step], ran.get(step, 0.0)))
    saved = {step: max(0.0, whole[step] - ran.get(step, 0.0)) for step in steps}
    total, spent = sum(saved.values()), sum(ran.values())
    if not run or total <= LEAST_SAVED * (total + spent):
        return
    yield Figure(
        id="saved",
        title="What the store and the remote cache saved",
        about=f"Seconds of work by step: {duration(spent)} ran in the last build, "
        f"{duration(total)} did not have to ({total / (total + spent):.0%} of all).",
        traces=[
            _amounts("ran", {step: ran.get(step, 0.0) for step in steps}, PLAIN),
            _amounts("saved", saved, GOOD),
        ],
        layout={
            "barmode": "stack",
            "xaxis": {"title": {"text": "seconds"}},
            "yaxis": {
                "autorange": "reversed", "type": "category", "categoryorder": "array",
                "categoryarray": steps, "automargin": True,
            },
        },
        height=140 + LANE_PX * len(steps),
    )  # fmt: skip


def _amounts(name: str, seconds: Mapping[str, float], colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": list(seconds),
        "x": [round(one, 3) for one in seconds.values()],
        "text": [duration(one) for one in seconds.values()],
        "textposition": "none",
        "marker": {"color": colour},
        "hovertemplate": f"%{{y}}: {name} %{{text}}<extra></extra>",
    }
