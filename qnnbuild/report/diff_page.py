"""Two builds as one HTML file that needs nothing else, in the report's own look. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from qnnbuild.report.diff import Change, Side
from qnnbuild.report.diff_chips import chip_lines, chips_in
from qnnbuild.report.diff_comment import seconds_cell, size_cell, sqnr_cell
from qnnbuild.report.diff_lines import by_heading, folded, inside
from qnnbuild.report.page import own, templates

BAD = ("Failed", "Not built", "Gone", "More on the CPU", "Less accurate", "Bigger", "Slower")
GOOD = ("Mended", "New", "Less on the CPU", "More accurate", "Smaller", "Faster")
"""Headings by the colour that they have; what is for the worse is what --fail-on says."""


def diff_page(before: Side, after: Side, changes: Sequence[Change], bars: str) -> str:
    """`bars` are the words of --fail-on by which changes are for the worse."""
    headed = by_heading(changes)
    return (
        templates()
        .get_template("diff.html")
        .render(
            sides=(before, after),
            bars=bars,
            worse=sum(change.worse for change in changes),
            total=len(changes),
            lines=[
                (line, size_cell(line), seconds_cell(line), sqnr_cell(line))
                for line in chip_lines(before, after, changes)
            ],
            chips=len(chips_in(before, after)),
            sections=[(name, len(ones), folded(ones)) for name, ones in headed.items()],
            inside=inside,
            colours={**dict.fromkeys(BAD, "failed"), **dict.fromkeys(GOOD, "built")},
            style=own("report.css"),
            own_style=own("diff.css"),
        )
    )
