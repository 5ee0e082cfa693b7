"""Two builds as what a pull request is told: short where little changed, folded where much did.

Pure. GitHub shows it below a run and as a comment; by MARKER the comment is found again.
"""

from __future__ import annotations

from collections.abc import Sequence

from qnnbuild.report.amounts import size
from qnnbuild.report.diff import Change, Side
from qnnbuild.report.diff_chips import ChipLine, chip_lines, chips_in
from qnnbuild.report.diff_lines import HEADINGS, inside
from qnnbuild.report.diff_markdown import MOST_CHARS, counts, sections, span
from qnnbuild.work.markdown import table

MARKER = "<!-- qnnbuild diff -->"
"""At the top: a comment that begins so is ours, and is changed in place."""

HEAD = ("chip", "size", "compile time", "SQNR", "what changed")
MOST_OPEN = 12
"""Chips that stand there before anybody unfolds anything; those that got worse come first."""

MOST_UNBUILT = 5
MOST_CHIP_CHARS = 20_000
ROOM = 300  # for what folds


def diff_comment(
    before: Side, after: Side, changes: Sequence[Change], most: int = MOST_CHARS
) -> str:
    """At most `most` characters, with MARKER at the top: what finds no room is counted."""
    text = f"{MARKER}\n### Builds: {span(before.name)} → {span(after.name)}\n\n"
    text += "".join(map(_unbuilt, (side for side in (before, after) if side.unbuilt)))
    chips = len(chips_in(before, after))
    if not changes:
        return f"{text}No change in size, time or accuracy on {_several(chips, 'chip')}.\n"
    lines = chip_lines(before, after, changes)
    text += f"{counts(changes)}\n\n{_chips(lines)}"
    same = chips - len(lines)
    text += f"\n{_several(same, 'other chip')}: no change.\n" if same > 0 else ""
    room = most - len(text) - ROOM
    return text + _fold(f"Each change, {len(changes):,} in all", sections(changes, room))


def _unbuilt(side: Side) -> str:
    """What a revision has that was never built, so that nobody takes it for no change."""
    names = side.unbuilt
    more = f" and {len(names) - MOST_UNBUILT:,} more" if len(names) > MOST_UNBUILT else ""
    listed = ", ".join(map(span, names[:MOST_UNBUILT]))
    return f"⚠️ Never built of {span(side.name)}: {listed}{more}, and what stands on it.\n\n"


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _chips(lines: Sequence[ChipLine]) -> str:
    """The first few at once, the others folded; rows that find no room are counted."""
    rows = [_row(line) for line in lines]
    text = f"{table(HEAD, rows[:MOST_OPEN])}\n"
    folded: list[tuple[str, ...]] = []
    left = rows[MOST_OPEN:]
    while left and len(table(HEAD, [*folded, left[0]])) < MOST_CHIP_CHARS:
        folded.append(left.pop(0))
    if folded:
        more = f"\n\n… and {_several(len(left), 'more chip')}." if left else ""
        text += _fold(
            _several(len(rows) - MOST_OPEN, "more chip"), f"\n{table(HEAD, folded)}{more}"
        )
    return text


def _fold(title: str, text: str) -> str:
    # GitHub takes what follows an empty line for Markdown again
    return f"\n<details><summary>{title}</summary>\n\n{text.strip()}\n\n</details>\n"


def _row(line: ChipLine) -> tuple[str, ...]:
    kinds = (f"{inside(name)} {line.counts[name]:,}" for name in HEADINGS if line.counts.get(name))
    return (
        f"{span(line.chip)}{' ❌' if line.worse else ''}",
        size_cell(line),
        seconds_cell(line),
        sqnr_cell(line),
        ", ".join(kinds),
    )


def size_cell(line: ChipLine) -> str:
    if line.size is None:
        return "–"
    before, after = line.size
    if before == after:
        return size(after)
    percent = f" ({(after - before) / before:+.1%})" if before else ""
    return f"{size(before)} → {size(after)}{percent}"


def seconds_cell(line: ChipLine) -> str:
    if line.seconds is None:
        return "–"
    before, after = (f"{number:,.1f}" for number in line.seconds)
    return f"{after} s" if before == after else f"{before} → {after} s"


def sqnr_cell(line: ChipLine) -> str:
    """Of the output that somebody has to look at first; a dash where none changed."""
    if line.sqnr is None:
        return "–"
    before, after = line.sqnr
    return f"{before:.1f} → {after:.1f} dB ({after - before:+.1f})"
