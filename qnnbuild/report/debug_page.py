"""What `qnnbuild debug` found, as a page: accuracy layer by layer, and where it is lost. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.report.figure import BAD, FAINT, GOOD, PLAIN, Figure
from qnnbuild.report.page import inline, own, plotly, scripts, templates

Layer = Mapping[str, Any]

SCRIPTS = ("page.js", "pictures.js", "debug_begin.js")
MOST_LOSING = 30
LINE_PX = 22
LEAST_LOST_DB = 0.05


def debug_page(name: str, found: Mapping[str, Any], words: Sequence[str]) -> str:
    """`found` as the action's layers.json has it; `words` are what the command prints below."""
    pictures = [_along(found), *_losing(found["layers"])]
    return (
        templates()
        .get_template("debug.html")
        .render(
            name=name,
            found=found,
            words=words,
            figures=pictures,
            drawn=inline([picture.as_json() for picture in pictures]),
            style=own("report.css"),
            script=scripts(*SCRIPTS),
            plotly=plotly(),
        )
    )


def _along(found: Mapping[str, Any]) -> Figure:
    """All layers in the order of the graph; what is below the bar stands out."""
    layers: Sequence[Layer] = found["layers"]
    bar = found["bar_db"]
    below = sum(layer["sqnr_db"] < bar for layer in layers)
    worst = min(layers, key=lambda layer: layer["sqnr_db"])
    return Figure(
        id="along",
        title="Accuracy along the graph",
        about=f"SQNR of each layer in the graph's order, against the CPU: {below:,} of "
        f"{len(layers):,} are below {bar:g} dB, the worst is {_name(worst)} "
        f"({worst['sqnr_db']:.1f} dB).",
        traces=[
            {
                "type": "scatter",
                "mode": "lines+markers",
                "x": list(range(1, len(layers) + 1)),
                "y": [layer["sqnr_db"] for layer in layers],
                "text": [_name(layer) for layer in layers],
                "line": {"color": FAINT, "width": 1},
                "marker": {
                    "color": [BAD if layer["sqnr_db"] < bar else GOOD for layer in layers],
                    "size": 6,
                },
                "hovertemplate": "%{text}<br>%{y:.1f} dB<extra></extra>",
            }
        ],
        layout={
            "xaxis": {"title": {"text": "layer"}},
            "yaxis": {"title": {"text": "SQNR, dB"}},
            "showlegend": False,
            "shapes": [
                {
                    "type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": bar, "y1": bar,
                    "line": {"color": BAD, "width": 1, "dash": "dash"},
                }
            ],
        },
        height=380,
    )  # fmt: skip


def _losing(layers: Sequence[Layer]) -> Iterator[Figure]:
    """How much worse a layer is than the worst of what it is computed from."""
    lost = [layer for layer in layers if (layer["lost_db"] or 0.0) >= LEAST_LOST_DB]
    shown = sorted(lost, key=lambda layer: -layer["lost_db"])[:MOST_LOSING]
    if not shown:
        return
    names = [_name(layer) for layer in shown]
    yield Figure(
        id="lost",
        title="Where it is lost",
        about="How many dB a layer has less than the worst of what it is computed from, the "
        f"{'most' if len(shown) == 1 else f'{len(shown)} that lose most'}: {names[0]} loses "
        f"{shown[0]['lost_db']:.1f} dB.",
        traces=[
            {
                "type": "bar",
                "orientation": "h",
                "y": names,
                "x": [layer["lost_db"] for layer in shown],
                "marker": {"color": PLAIN},
                "hovertemplate": "%{y}<br>%{x:.1f} dB<extra></extra>",
            }
        ],
        layout={
            "showlegend": False,
            "xaxis": {"title": {"text": "dB lost"}},
            "yaxis": {
                "autorange": "reversed", "type": "category", "categoryorder": "array",
                "categoryarray": names, "automargin": True,
            },
        },
        height=110 + LINE_PX * len(shown),
    )  # fmt: skip


def _name(layer: Layer) -> str:
    return f"{layer['node']} ({layer['operator']})"
