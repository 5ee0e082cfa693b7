"""All pictures of the report, and those of accuracy. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from qnnbuild.report.figure import BAD, FAINT, GOOD, LIFTED, PLAIN, Figure, Points, boxes
from qnnbuild.report.figures_build import of_build
from qnnbuild.report.figures_chips import by_chip
from qnnbuild.report.summary import Told, cells, name_of

MOST_LAYERS = 60
LINE_PX = 18
SYMBOLS = ("circle", "diamond")


def figures(told: Told) -> list[Figure]:
    return [*of_build(told), *by_chip(told), *_accuracy(told), *_searches(told)]


def _accuracy(told: Told) -> Iterator[Figure]:
    points = _points(told)
    if not points:
        return
    each = [f"{word}: {len(found)} binaries, {_range(found)}" for word, found in points.items()]
    yield Figure(
        id="accuracy",
        title="Accuracy by precision",
        about=f"SQNR of the worst output of each binary that was run. {'; '.join(each)}.",
        traces=boxes(points, "%{y:.1f} dB"),
        layout={"yaxis": {"title": {"text": "SQNR, dB"}}, "showlegend": False},
        height=360,
    )


def _points(told: Told) -> dict[str, Points]:
    """Precision → one point for each binary that was run; chips that share it share its point."""
    points: dict[str, list[tuple[float, str]]] = {}
    seen: set[tuple[str, str]] = set()
    for model, row, cell in cells(told):
        for graph in cell["graphs"]:
            proof = model["proofs"].get(graph["proof"]) if graph["proof"] else None
            if proof is None or proof["sqnr_db"] is None or (model["name"], graph["proof"]) in seen:
                continue
            seen.add((model["name"], graph["proof"]))
            name = f"{name_of(model, row)} {graph['graph']} on {proof['chip']}"
            precision = graph["precision"].partition(" ")[0]
            points.setdefault(precision, []).append((proof["sqnr_db"], name))
    return {word: points[word] for word in sorted(points)}


def _range(points: Points) -> str:
    values = [value for value, _ in points]
    least, most = min(values), max(values)
    return f"{least:.1f} dB" if least == most else f"{least:.1f} to {most:.1f} dB"


def _searches(told: Told) -> Iterator[Figure]:
    number = 0
    for model in told["models"]:
        for search in model["searches"]:
            number += 1
            name = f"{model['name']}/{search['of']}"
            if search["layers"]:
                yield _layers(f"layers-{number}", name, search)
            yield _tries(f"tries-{number}", name, search)


def _layers(id_: str, name: str, search: Told) -> Figure:
    """Bars from the left: the shorter, the more a layer's 8 bits cost."""
    lifted = set(search["tries"][-1]["lifted"]) if search["tries"] else set()
    shown = search["layers"][:MOST_LAYERS]
    more = len(search["layers"]) - len(shown)
    worst = shown[0]
    return Figure(
        id=id_,
        title=f"{name}: what each layer costs in 8 bits",
        about=(
            f"SQNR of the graph's worst output when one layer alone has 8 bits. The worst of "
            f"{len(search['layers'])} layers is {worst['layer']} ({worst['sqnr_db']:.1f} dB); "
            f"{_lifted(search)}." + (f" The {more} best are left out." if more else "")
        ),
        traces=[
            _bars("stays in 8 bits", [one for one in shown if one["layer"] not in lifted], PLAIN),
            _bars("lifted to 16 bits", [one for one in shown if one["layer"] in lifted], LIFTED),
        ],
        layout={
            "barmode": "overlay",
            "xaxis": {"title": {"text": "SQNR, dB"}},
            "yaxis": {
                "autorange": "reversed",
                "categoryorder": "array",
                "categoryarray": [one["layer"] for one in shown],
                "automargin": True,
                "type": "category",
            },
            "shapes": _bar_line(search, axis="x"),
        },
        height=120 + LINE_PX * len(shown),
    )


def _lifted(search: Told) -> str:
    lifted = search["tries"][-1]["lifted"] if search["tries"] else ()
    return f"lifted to 16 bits: {', '.join(lifted)}" if lifted else "no layer alone was lifted"


def _bars(name: str, layers: Sequence[Told], colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "y": [one["layer"] for one in layers],
        "x": [one["sqnr_db"] for one in layers],
        "text": [one["operator"] for one in layers],
        "textposition": "none",
        "marker": {"color": colour},
        "hovertemplate": "%{y} (%{text})<br>%{x:.1f} dB<extra></extra>",
    }


def _tries(id_: str, name: str, search: Told) -> Figure:
    tries = search["tries"]
    places = list(dict.fromkeys(place for one in tries for place in one["sqnr_db"]))
    last = tries[-1] if tries else None
    found = f"{last['label']} holds" if last is not None and last["holds"] else "none holds yet"
    return Figure(
        id=id_,
        title=f"{name}: what was tried",
        about=f"SQNR of the worst output, try by try, in the order of their cost: {found}.",
        traces=[
            _tried(tries, place, colour, symbol)
            for place, colour, symbol in zip(places, (PLAIN, FAINT), SYMBOLS, strict=False)
        ],
        layout={
            "yaxis": {"title": {"text": "SQNR, dB"}},
            "xaxis": {"type": "category", "automargin": True},
            "shapes": _bar_line(search, axis="y"),
        },
        height=340,
    )


def _tried(tries: Sequence[Told], place: str, colour: str, symbol: str) -> dict[str, Any]:
    """What the tries had on the CPU, or on the emulator: where it does not hold there is none."""
    shown = [one for one in tries if one["sqnr_db"].get(place) is not None]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": place,
        "x": [one["label"] for one in shown],
        "y": [one["sqnr_db"][place] for one in shown],
        "text": ["holds" if one["holds"] else "; ".join(one["below"]) for one in shown],
        "line": {"color": colour, "width": 1},
        "marker": {
            "color": [GOOD if one["holds"] else BAD for one in shown],
            "size": 9,
            "symbol": symbol,
        },
        "hovertemplate": "%{x}<br>%{y:.1f} dB: %{text}<extra></extra>",
    }


def _bar_line(search: Told, *, axis: str) -> list[dict[str, Any]]:
    """A dashed line at the recipe's bar."""
    bar = search["bar_db"]
    if bar is None:
        return []
    other = "y" if axis == "x" else "x"
    return [
        {
            "type": "line",
            f"{axis}0": bar,
            f"{axis}1": bar,
            f"{other}0": 0,
            f"{other}1": 1,
            f"{other}ref": "paper",
            "line": {"color": BAD, "width": 1, "dash": "dash"},
        }
    ]
