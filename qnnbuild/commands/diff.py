"""qnnbuild diff A B: what changed between two builds, and whether it got worse."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from qnnbuild.commands.build_sides import side
from qnnbuild.commands.columns import aligned, json_text
from qnnbuild.digest import Json
from qnnbuild.engine.store import on_disk, place
from qnnbuild.errors import NotGood
from qnnbuild.report.diff import Change, Side, diff, shown
from qnnbuild.report.fail_on import TAKES, limits_of

JUDGED = ("cpu",)
"""Bars where nobody says any."""

BUILDS = (
    "a build folder, its index.json, one manifest.json, or a git revision: what the store and a "
    "remote cache have of its plan"
)
HEAD = ("bundle", "graph", "what", "before", "after", "")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("before", help=BUILDS)
    parser.add_argument("after", help="the same of the build that is judged")
    parser.add_argument(
        "--fail-on",
        action="append",
        metavar="BAR",
        help=f"what makes it exit with 5: {TAKES}; cpu when left out",
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="the changes as data")
    form.add_argument(
        "--markdown",
        action="store_true",
        help="for a comment or a step summary on GitHub, which it fits: short, the rest folded",
    )
    form.add_argument("--html", action="store_true", help="one page that needs nothing else")
    parser.add_argument(
        "-o", "--output", type=Path, metavar="FILE", help="where it goes, instead of to stdout"
    )


def run(args: Namespace) -> int:
    bars = args.fail_on or JUDGED
    limits = limits_of(bars)
    before, after = _side(args.before), _side(args.after)
    changes = diff(before, after, limits)
    worse = [change for change in changes if change.worse]
    text = _text(args, before, after, changes)
    if args.output is None:
        sys.stdout.write(text)
    else:
        with on_disk("what changed cannot be written"):
            place(args.output, text.encode(errors="replace"))
    if worse and (args.output or not (args.json or args.markdown or args.html)):
        raise _not_good(worse, len(changes))
    return NotGood.exit_code if worse else 0


def _side(written: str) -> Side:
    """What is on the disk goes before what git knows by that name."""
    if os.path.lexists(written):
        return side(Path(written))
    from qnnbuild.commands.revision_side import revision_side

    return revision_side(written)


def _text(args: Namespace, before: Side, after: Side, changes: Sequence[Change]) -> str:
    """In the form that was asked for."""
    if args.json:
        return json_text(_as_json(before, after, changes))
    if args.markdown:
        from qnnbuild.report.diff_comment import diff_comment

        return diff_comment(before, after, changes)
    if args.html:
        from qnnbuild.report.diff_page import diff_page

        return diff_page(before, after, changes, ",".join(args.fail_on or JUDGED))
    return aligned(map(_row, changes), HEAD) if changes else "no change\n"


def _as_json(before: Side, after: Side, changes: Sequence[Change]) -> Json:
    from qnnbuild.report.diff_chips import chip_lines

    return {
        "before": before.as_json(),
        "after": after.as_json(),
        "changes": [change.as_json() for change in changes],
        "chips": [line.as_json() for line in chip_lines(before, after, changes)],
        "worse": sum(change.worse for change in changes),
    }


def _row(change: Change) -> tuple[str, ...]:
    worse = "WORSE" if change.worse else ""
    sides = (shown(change.before), shown(change.after))
    return (change.bundle, change.graph or "-", change.what, *sides, worse)


def _not_good(worse: Sequence[Change], total: int) -> NotGood:
    first = worse[0]
    place = f"{first.bundle} {first.graph}".strip()
    return NotGood(
        f"{len(worse)} of {total} changes are for the worse: {place}: {first.what}",
        facts=[("before", shown(first.before)), ("after", shown(first.after))],
        hint="--fail-on says what counts as worse",
    )
