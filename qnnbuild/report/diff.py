"""Two builds against each other: their bundles' manifests, and what their reports tell. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.report.fail_on import LEAST_S, Limits
from qnnbuild.report.summary import STATES, Told, cells
from qnnbuild.report.summary import name_of as row_name

Manifest = Mapping[str, Any]

BUNDLE, GRAPH, BYTES, STATE, SECONDS = "bundle", "graph", "bytes", "state", "compile seconds"
CPU_NODES, CPU_SHARE, SQNR = "CPU nodes", "CPU share of multiply-adds", "SQNR of "
"""`what` of changes."""

SAME_DB = 0.05
"""A smaller step of SQNR is not told: two builds of one recipe are equal to the byte anyhow."""


@dataclass(frozen=True, kw_only=True)
class Side:
    """One build: its manifests by `name_of`, and its report as `told.as_json` gives it.

    A git revision is the build that a store has of it: `planned` are all bundles by `name_of`,
    `unbuilt` the actions of which it has nothing, where a build of them would begin.
    """

    name: str = ""  # what people call it
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    told: Told | None = None
    planned: frozenset[str] = frozenset()
    unbuilt: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        return {"name": self.name, "bundles": len(self.manifests), "unbuilt": list(self.unbuilt)}


@dataclass(frozen=True, kw_only=True)
class Change:
    """`what` of a bundle, or of one graph in it. None where one side has nothing to say."""

    bundle: str  # MODEL[/VARIANT]@CHIP
    graph: str
    what: str
    before: Any
    after: Any
    worse: bool = False

    def as_json(self) -> dict[str, Any]:
        return {
            "bundle": self.bundle,
            "graph": self.graph or None,
            "what": self.what,
            "before": self.before,
            "after": self.after,
            "worse": self.worse,
        }


def name_of(manifest: Manifest) -> str:
    variants, chips = (
        "+".join(one["name"] for one in manifest[kind]) for kind in ("variants", "chips")
    )
    chips = chips or "libraries"
    return f"{manifest['model']}{'/' if variants else ''}{variants}@{chips}"


def diff(before: Side, after: Side, limits: Limits) -> list[Change]:
    """All changes, by bundle and graph; what the reports tell comes after what shipped."""
    found: list[Change] = []
    for name in sorted(before.manifests.keys() | after.manifests.keys()):
        old, new = before.manifests.get(name), after.manifests.get(name)
        if old is not None and new is not None:
            found += _bundle(name, old, new, limits)
        elif name not in (before if old is None else after).planned:  # else its state tells
            found.append(_there(name, "", BUNDLE, is_there=new is not None, limits=limits))
    if before.told is not None and after.told is not None:
        unknown = "stale" if before.unbuilt else None
        found += _reports(before.told, after.told, limits, unknown)
    return found


def _there(bundle: str, graph: str, what: str, *, is_there: bool, limits: Limits) -> Change:
    """It is there on one side only."""
    worse = limits.gone and not is_there
    return Change(
        bundle=bundle, graph=graph, what=what, before=not is_there, after=is_there, worse=worse
    )


def _bundle(name: str, old: Manifest, new: Manifest, limits: Limits) -> Iterator[Change]:
    less, more = bytes_of(old), bytes_of(new)
    if less != more:
        worse = limits.bigger(less, more)
        yield Change(bundle=name, graph="", what=BYTES, before=less, after=more, worse=worse)
    for graph in sorted(old["graphs"].keys() | new["graphs"].keys()):
        one, other = old["graphs"].get(graph), new["graphs"].get(graph)
        if one is None or other is None:
            yield _there(name, graph, GRAPH, is_there=other is not None, limits=limits)
            continue
        for what, first, second, worse in _graph(one, other, limits):
            yield Change(
                bundle=name, graph=graph, what=what, before=first, after=second, worse=worse
            )


def bytes_of(manifest: Manifest) -> int:
    return sum(file["bytes"] for file in manifest["files"].values())


Found = tuple[str, Any, Any, bool]


def _graph(old: Mapping[str, Any], new: Mapping[str, Any], limits: Limits) -> Iterator[Found]:
    if old["precision"] != new["precision"]:
        yield "precision", old["precision"], new["precision"], False
    widths = [(one.get("quantization") or {}).get("nodes") for one in (old, new)]
    if widths[0] != widths[1]:
        yield "nodes by bits", widths[0], widths[1], False
    yield from _on_the_cpu(old, new, limits)
    first, second = sqnr_of(old), sqnr_of(new)
    for output in sorted(first.keys() | second.keys()):
        a, b = first.get(output), second.get(output)
        if a is None or b is None:
            yield f"{SQNR}{output}", a, b, False
        elif abs(a - b) >= SAME_DB:
            yield f"{SQNR}{output}", a, b, limits.less_accurate(a, b)
    yield from _metrics(old, new)


def _metrics(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Found]:
    """The user's own measures; which way is better, only their recipe knows."""
    first, second = (
        {
            f"{measure}: {what}": value
            for measure, found in ((one.get("verified") or {}).get("metrics") or {}).items()
            for what, value in found.items()
        }
        for one in (old, new)
    )
    for name in sorted(first.keys() | second.keys()):
        if first.get(name) != second.get(name):
            yield name, first.get(name), second.get(name), False


def _on_the_cpu(old: Mapping[str, Any], new: Mapping[str, Any], limits: Limits) -> Iterator[Found]:
    """Nodes by name; which ones they are tells more than how many."""
    before, after = _cpu_nodes(old), _cpu_nodes(new)
    if before != after:
        yield CPU_NODES, before, after, limits.cpu and len(after) > len(before)
    shares = [float(one["context"].get("cpu_share_of_multiply_adds") or 0.0) for one in (old, new)]
    if shares[0] != shares[1]:
        yield (
            CPU_SHARE,
            shares[0],
            shares[1],
            limits.cpu and shares[1] > shares[0],
        )


def _cpu_nodes(graph: Mapping[str, Any]) -> list[str]:
    return sorted(f"{node['node']} ({node['operator']})" for node in graph["on_cpu"])


def sqnr_of(graph: Mapping[str, Any]) -> dict[str, float]:
    """Output → dB, of a manifest's graph that was verified."""
    verified = graph.get("verified") or {}
    return {
        output: numbers["sqnr_db"]
        for output, numbers in verified.get("outputs", {}).items()
        if "sqnr_db" in numbers
    }


SLOWER = 1.5
"""A compile's time is told when it differs by this factor and LEAST_S, or breaks a bar."""

LEFT = ("failed", "stale")
"""States of cells of which nothing ships, and no recipe says so."""


def _reports(before: Told, after: Told, limits: Limits, unknown: str | None) -> Iterator[Change]:
    """Cells that are in other states, and compiles that took another time.

    A state before that is `unknown` is no state to compare with.
    """
    old, new = ({cell_name(*one): one[2] for one in cells(told)} for told in (before, after))
    for name in sorted(new):
        was, now = old.get(name), new[name]
        if was is not None and was["state"] == unknown:
            continue
        if (was["state"] if was else "built") != now["state"]:
            words = [STATES[was["state"]] if was else None, STATES[now["state"]]]
            worse = limits.failed and now["state"] in LEFT and (not was or was["state"] not in LEFT)
            yield Change(
                bundle=name, graph="", what=STATE, before=words[0], after=words[1], worse=worse
            )
        if was is not None:
            yield from _times(name, was, now, limits)


def cell_name(model: Told, row: Told, cell: Told) -> str:
    return f"{row_name(model, row)}@{cell['chip']}"


def _times(name: str, was: Told, now: Told, limits: Limits) -> Iterator[Change]:
    old, new = seconds_of(was), seconds_of(now)
    for graph in sorted(old.keys() & new.keys()):
        short, long = sorted((old[graph], new[graph]))
        worse = limits.slower(old[graph], new[graph])
        if worse or (long > short * SLOWER and long - short > LEAST_S):
            yield Change(
                bundle=name, graph=graph, what=SECONDS, worse=worse,
                before=round(old[graph], 1), after=round(new[graph], 1),
            )  # fmt: skip


def seconds_of(cell: Told) -> dict[str, float]:
    """Graph → how long its compile took, of a cell's graphs that are compiled."""
    return {one["graph"]: one["compiled"]["seconds"] for one in cell["graphs"] if one["compiled"]}


DIGITS = 6
MOST_LISTED = 3


def shown(value: Any) -> str:
    """One side of a change, for people."""
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "there" if value else "gone"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    if isinstance(value, list):
        return _some(value)
    return str(value)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
