"""Changes between two builds as lines for people: by kind, each once for all chips. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.report import diff
from qnnbuild.report.amounts import size
from qnnbuild.report.diff import Change, shown
from qnnbuild.report.summary import STATES

HEADINGS = (
    "Failed", "Not built", "Gone", "More on the CPU", "Less accurate", "Bigger", "Slower",
    "Mended", "New", "Less on the CPU", "More accurate", "Smaller", "Faster", "Otherwise",
)  # fmt: skip
"""In this order: what somebody has to look at comes first."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """The same change on all its chips."""

    model: str  # MODEL[/VARIANT]
    change: Change
    chips: tuple[str, ...]
    count: int  # changes: one for each bundle

    @property
    def before(self) -> str:
        return _side(self.change, self.change.before)

    @property
    def after(self) -> str:
        return _side(self.change, self.change.after)

    @property
    def percent(self) -> str:
        """How much a size changed, with a sign; empty for what is no size."""
        before, after = self.change.before, self.change.after
        if self.change.what != diff.BYTES or not before:
            return ""
        return f"{(after - before) / before:+.1%}"


def inside(heading: str) -> str:
    """As it stands inside a sentence."""
    return heading[0].lower() + heading[1:]


def by_heading(changes: Sequence[Change]) -> Mapping[str, list[Change]]:
    """In the order of HEADINGS; none that is empty."""
    found: dict[str, list[Change]] = {heading: [] for heading in HEADINGS}
    for change in changes:
        found[heading_of(change)].append(change)
    return {heading: ones for heading, ones in found.items() if ones}


def folded(changes: Sequence[Change]) -> list[Line]:
    """What is for the worse first."""
    found: dict[str, list[Change]] = {}
    for one in changes:
        same = repr((model_of(one), one.graph, one.what, one.before, one.after, one.worse))
        found.setdefault(same, []).append(one)
    lines = [
        Line(
            model=model_of(first),
            change=first,
            chips=tuple(dict.fromkeys(chip for one in (first, *others) for chip in chips_of(one))),
            count=1 + len(others),
        )
        for first, *others in found.values()
    ]
    return sorted(lines, key=lambda line: not line.change.worse)


def model_of(change: Change) -> str:
    return change.bundle.rpartition("@")[0]


def chips_of(change: Change) -> list[str]:
    """Those that have the bundle in common."""
    return change.bundle.rpartition("@")[2].split("+")


def heading_of(change: Change) -> str:
    """Which of `HEADINGS` it stands under."""
    before, after = change.before, change.after
    if change.what == diff.STATE:
        return {STATES["failed"]: "Failed", STATES["stale"]: "Not built"}.get(
            after, "Mended" if before in _LEFT else "Otherwise"
        )
    if change.what in {diff.BUNDLE, diff.GRAPH}:
        return "New" if after else "Gone"
    if change.what == diff.CPU_NODES:
        more = len(after) - len(before)
        return "Otherwise" if not more else "More on the CPU" if more > 0 else "Less on the CPU"
    if before is None or after is None:
        return "Otherwise"
    for what, (up, down) in _DIRECTIONS.items():
        if change.what.startswith(what):
            return up if after > before else down
    return "Otherwise"


_LEFT = tuple(STATES[state] for state in diff.LEFT)
_DIRECTIONS = {
    diff.CPU_SHARE: ("More on the CPU", "Less on the CPU"),
    diff.SQNR: ("More accurate", "Less accurate"),
    diff.BYTES: ("Bigger", "Smaller"),
    diff.SECONDS: ("Slower", "Faster"),
}


def _side(change: Change, value: object) -> str:
    if change.what == diff.BYTES and isinstance(value, int):
        return size(value)
    return shown(value)
