"""What changed between two builds as Markdown, as GitHub shows it. Pure.

All that recipes and tools say stands in code spans: nothing in it is a link, a mention or markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from qnnbuild.report.diff import Change
from qnnbuild.report.diff_lines import Line, by_heading, chips_of, folded, inside
from qnnbuild.text.render import clean
from qnnbuild.work.markdown import code, table

MOST_CHARS = 60_000
"""An issue or a comment of GitHub's takes 65,536 characters; who tells has words of its own."""

HEAD = ("", "model", "graph", "what", "before", "after", "chips")
MOST_CHIPS = 6
MOST_TEXT = 120  # characters of a cell
ROOM_FOR_THE_REST = 200


def diff_markdown(changes: Sequence[Change], most: int = MOST_CHARS) -> str:
    """At most `most` characters: rows that find no room are counted."""
    if not changes:
        return "No change.\n"
    headed = by_heading(changes)
    text = f"{counts(changes)}\n\n"
    by_chip = _by_chip(headed)
    if len(text) + len(by_chip) < most // 2:
        text += by_chip
    return text + sections(changes, most - len(text))


def counts(changes: Sequence[Change]) -> str:
    """How many there are, of each kind."""
    several = f"{len(changes):,} change{'s' if len(changes) > 1 else ''}"
    kinds = ", ".join(f"{inside(name)} {len(ones):,}" for name, ones in by_heading(changes).items())
    return f"{several}, {sum(one.worse for one in changes):,} for the worse: {kinds}."


def sections(changes: Sequence[Change], most: int) -> str:
    """A heading and a table for each kind; at most `most` characters."""
    text, left = "", 0
    for heading, found in by_heading(changes).items():
        told, missing = _section(heading, folded(found), most - len(text) - ROOM_FOR_THE_REST)
        text += told
        left += missing
    return text + (f"\n… and {left:,} more.\n" if left else "")


def span(text: str, most: int = MOST_TEXT) -> str:
    """A code span of somebody else's words, on one line and not too long."""
    line = " ".join(clean(text).split())
    return code(line if len(line) <= most else line[: most - 1] + "…") if line else ""


def _by_chip(headed: Mapping[str, Sequence[Change]]) -> str:
    """How many changes of each kind each chip has."""
    counted = [Counter(chip for one in ones for chip in chips_of(one)) for ones in headed.values()]
    chips = sorted({chip for one in counted for chip in one})
    rows = [
        [span(chip), *(f"{one[chip]:,}" if one[chip] else "" for one in counted)] for chip in chips
    ]
    return table(["chip", *map(inside, headed)], rows) + "\n"


def _section(heading: str, lines: Sequence[Line], room: int) -> tuple[str, int]:
    """The section, and how many changes found no room in it."""
    top = f"\n### {heading}\n\n{table(HEAD, [])}\n"
    text, left = top, 0
    for line in lines:
        row = table(HEAD, [_cells(line)]).splitlines()[-1] + "\n"
        if left or len(text) + len(row) > room:
            left += line.count
        else:
            text += row
    return (text if text != top else ""), left


def _cells(line: Line) -> tuple[str, ...]:
    one = line.change
    more = len(line.chips) - MOST_CHIPS
    return (
        "❌" if one.worse else "",
        span(line.model),
        span(one.graph) if one.graph else "",
        span(one.what),
        span(line.before) if not line.percent else line.before,
        f"{line.after} ({line.percent})" if line.percent else span(line.after),
        ", ".join(map(span, line.chips[:MOST_CHIPS])) + (f" and {more}" if more > 0 else ""),
    )
