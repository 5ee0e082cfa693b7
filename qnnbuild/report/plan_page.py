"""A plan's picture as SVG, and as a page in which a click tells of an action. Pure."""

from __future__ import annotations

from typing import Any

from qnnbuild.report.page import inline, own, templates
from qnnbuild.report.plan_layout import Layout, laid_out, short
from qnnbuild.report.plan_picture import STATES, Picture, forward


def svg(picture: Picture) -> str:
    """A whole file that needs nothing else; it is light or dark as its reader is."""
    return templates().get_template("plan.svg").render(_told(picture), alone=True)


def html(picture: Picture, title: str) -> str:
    """`title` says what is shown: a pattern, or the repo."""
    data = {
        "boxes": {
            box.id: {"title": box.title, "members": [one.as_json() for one in box.members]}
            for box in picture.boxes
        },
        "words": STATES,
    }
    return (
        templates()
        .get_template("plan.html")
        .render(
            _told(picture),
            alone=False,
            title=title,
            data=inline(data),
            page_style=own("plan_page.css"),
            script=own("plan.js"),
        )
    )


def _told(picture: Picture) -> dict[str, Any]:
    layout = laid_out(picture)
    ahead = forward([box.id for box in picture.boxes], picture.edges)
    return {
        "picture": picture,
        "back": {*picture.edges} - {*ahead},
        "layout": layout,
        "lines": [(a, b, _path(layout, (a, b))) for a, b in picture.edges],
        "short": short,
        "style": own("plan.css"),
        "words": STATES,
    }


def _path(layout: Layout, edge: tuple[str, str]) -> str:
    """Curves between columns, straight lines through them."""
    (x, y), *points = layout.edges[edge]
    parts = [f"M{x:.1f} {y:.1f}"]
    for number, (to_x, to_y) in enumerate(points):
        if number % 2:
            parts.append(f"L{to_x:.1f} {to_y:.1f}")
        else:
            bend = abs(to_x - x) / 2
            parts.append(
                f"C{x + bend:.1f} {y:.1f} {to_x - bend:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}"
            )
        x, y = to_x, to_y
    return "".join(parts)
