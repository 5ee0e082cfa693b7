"""docs/performance.md and its plots, of the figures in docs/performance.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jinja2 import Template
from measuring import MB, REPO, SECONDS, Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

DATA = REPO / "docs" / "performance.json"
PAGE = REPO / "docs" / "performance.md"
PLOTS = REPO / "docs" / "performance"
TEXT = Path(__file__).with_name("performance.md.j2")
GREY = "#808080"
"""Is read on white and on black, and the plots have no ground of their own."""

COLOURS = ("#3b7dd8", "#d9822b", "#2e9e6b", "#b04fb0")


def page(told: Mapping[str, Any]) -> str:
    parts = {
        name: _table([Row(**row) for row in one["rows"]]) + "\n" + _machine(one["machine"]) + "\n"
        for name, one in told["parts"].items()
    }
    # Markdown for a page, not HTML: there is nothing to escape
    template = Template(TEXT.read_text(encoding="utf-8"), trim_blocks=True, autoescape=False)
    return str(template.render(parts=parts)).rstrip() + "\n"


def _table(rows: Sequence[Row]) -> str:
    lines = [
        "| what | actions | qnnbuild | other | ratio | goal |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        theirs = "" if row.theirs is None else f"{row.against} {_amount(row.theirs, row.unit)}"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        cells = (row.what, f"{row.size:,}", _amount(row.ours, row.unit), theirs, ratio, _goal(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _goal(row: Row) -> str:
    if row.limit is None:
        return ""
    wanted = f"{row.limit:g}" if row.ratio is not None else _amount(row.limit, row.unit)
    return f"≤ {wanted}: {'holds' if row.holds else '**missed**'}"


def _amount(value: float, unit: str) -> str:
    if unit == MB:
        return f"{value:,.0f} MB"
    return f"{value:.2f} s" if value < 100 else f"{value:,.0f} s"


def _machine(told: Mapping[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in told["packages"].items())
    return (
        f"{told['day']}, {told['cores']} cores, {told['memory_gb']} GB, "
        f"Python {told['python']}, {packages}."
    )


def plots(told: Mapping[str, Any], folder: Path) -> None:
    """A picture for each part that has one; the same figures make the same bytes."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update(
        {"svg.hashsalt": "qnnbuild", "svg.fonttype": "none", "font.family": "sans-serif"}
        | dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), GREY)
        | {"axes.edgecolor": GREY, "legend.frameon": False, "savefig.transparent": True}
    )
    folder.mkdir(exist_ok=True)
    for part, draw in {"noop": _noop, "cold": _cold, "growth": _growth}.items():
        if part in told["parts"]:
            rows = [Row(**row) for row in told["parts"][part]["rows"]]
            _draw(rows, draw, folder / f"{part}.svg")


def _draw(rows: Sequence[Row], draw: Any, file: Path) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    draw(rows, axes)
    figure.savefig(file, metadata={"Date": None, "Creator": None})
    plt.close(figure)


def _noop(rows: Sequence[Row], axes: Sequence[Axes]) -> None:
    for ax, what in zip(axes, ("nothing", "one source edited"), strict=True):
        lines = {f"doit ({what})": [(r.size, r.ours) for r in _of(rows, what, "ninja")]}
        if what == "nothing":
            gate = _of(rows, "nothing, by the gate", "ninja")
            lines["qnnbuild build"] = [(r.size, r.ours) for r in gate]
        for other in ("ninja", "make"):
            lines[other] = [(r.size, r.theirs or 0.0) for r in _of(rows, what, other)]
        _lines(ax, lines, SECONDS, what)


def _growth(rows: Sequence[Row], axes: Sequence[Axes]) -> None:
    for ax, what in zip(axes, ("plan, time", "plan, memory"), strict=True):
        found = [row for row in rows if row.what == what]
        _lines(ax, {what: [(r.size, r.ours) for r in found]}, found[0].unit, what)


def _lines(
    ax: Axes, lines: Mapping[str, Sequence[tuple[int, float]]], unit: str, title: str
) -> None:
    for colour, (name, points) in zip(COLOURS, lines.items(), strict=False):
        xs, ys = zip(*points, strict=True)
        ax.plot(xs, ys, "o-", color=colour, label=name)
    ax.set(xscale="log", yscale="log", xlabel="actions", ylabel=unit, title=title)
    if len(lines) > 1:
        ax.legend()


def _cold(rows: Sequence[Row], axes: Sequence[Axes]) -> None:
    for ax, what in zip(axes, dict.fromkeys(row.what for row in rows), strict=True):
        found = [row for row in rows if row.what == what]
        times = {row.against: row.theirs or 0.0 for row in reversed(found)}
        times["doit"] = found[0].ours
        bars = ax.barh(list(times), list(times.values()), color=COLOURS[: len(times)])
        ax.bar_label(bars, fmt="%.1f s", padding=3)
        ax.set(title=what, xlabel=SECONDS)
        ax.margins(x=0.2)


def _of(rows: Sequence[Row], what: str, against: str) -> list[Row]:
    return [row for row in rows if (row.what, row.against) == (what, against)]
