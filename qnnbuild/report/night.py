"""One night of a zoo against the last good one: the issue that tells of it. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from qnnbuild.report.diff import Side, diff
from qnnbuild.report.diff_markdown import MOST_CHARS, diff_markdown, span
from qnnbuild.report.fail_on import Limits
from qnnbuild.report.summary import STATES, Failed, Summary, Told, summary

MARKER = "<!-- qnnbuild nightly -->"
"""The issue that is ours: a label alone anybody may give to any issue."""

MOST_FAILURES = 30
MOST_CELLS = 8
MOST_SAID = 300


@dataclass(frozen=True, kw_only=True)
class Night:
    good: bool
    title: str
    body: str  # Markdown, at most MOST_CHARS, with MARKER at its top


def night(
    before: Side | None,
    after: Side | None,
    limits: Limits,
    url: str | None = None,
    result: str | None = None,
) -> Night:
    """`before` is the last good night's build, None for the first; `after` None: none was made.

    `url` is the run's, with more; `result` is how CI says that the build ended: what is not
    "success" is bad, whatever the report says. What is bad is told until it is mended: the last
    *good* night stays what others are held against.
    """
    links = f"[The run]({url}). " if url else ""
    if after is None:
        title = "Nightly: there is no build"
        text = f"{links}It ended before a bundle or a report was made.\n"
        return Night(good=False, title=title, body=f"{MARKER}\n{text}")
    changes = diff(before, after, limits) if before is not None else []
    found = summary(after.told) if after.told is not None else None
    worse = sum(change.worse for change in changes)
    wrong = tuple(after.told["wrong"]) if after.told is not None else ()
    bad = _bad(found, wrong, worse)
    if not bad and result not in (None, SUCCESS):
        bad = [f"the build ended with {result}"]
    title = f"Nightly: {', '.join(bad)}" if bad else "Nightly: all is well"
    head = f"{MARKER}\n{links}{_counts(found)}\n{''.join(_failures(found, wrong))}"
    text = "This is the first night.\n" if before is None else ""
    if before is not None:
        text = diff_markdown(changes, MOST_CHARS - len(head) - ROOM)
    since = "\n## Since the last good night\n\n"
    return Night(good=not bad, title=title, body=head + since + text)


ROOM = 200
SUCCESS = "success"
"""GitHub's word for a job that went well."""


def _bad(found: Summary | None, wrong: Sequence[Told], worse: int) -> list[str]:
    if found is None:  # bundles alone say nothing of what failed
        return ["there is no report"]
    states = found.states
    counts = {
        "with mistakes": len(wrong),
        "failed": states.get("failed", 0),
        "not built": states.get("stale", 0),
        "changed for the worse": worse,
    }
    return [f"{count:,} {what}" for what, count in counts.items() if count]


def _counts(found: Summary | None) -> str:
    if found is None:
        return "There is no report."
    return ", ".join(f"{found.states[state]:,} {word}" for state, word in STATES.items()) + "."


def _failures(found: Summary | None, wrong: Sequence[Told]) -> Iterator[str]:
    """Each once, with where it is and what it stops."""
    failed = found.failed if found is not None else ()
    if not failed and not wrong:
        return
    yield "\n## Failed\n\n"
    for one in wrong[:MOST_FAILURES]:
        yield _line(one["message"], one["at"], one["hint"])
    for two in failed[:MOST_FAILURES]:
        yield _line(two.failure["message"], two.failure["at"], two.failure["hint"])
        yield from _stopped(two)
    left = max(0, len(wrong) - MOST_FAILURES) + max(0, len(failed) - MOST_FAILURES)
    if left:
        yield f"- … and {left:,} more\n"


def _line(message: str, at: str | None, hint: str | None) -> str:
    place = f"{span(at)}: " if at else ""
    more = f"\n  hint: {span(hint, MOST_SAID)}" if hint else ""
    return f"- {place}{span(message, MOST_SAID)}{more}\n"


def _stopped(one: Failed) -> Iterator[str]:
    if one.said:
        yield f"  says: {span(one.said, MOST_SAID)}\n"
    more = len(one.cells) - MOST_CELLS
    cells = ", ".join(map(span, one.cells[:MOST_CELLS])) + (
        f" and {more:,} more" if more > 0 else ""
    )
    yield f"  stops {cells}\n"
