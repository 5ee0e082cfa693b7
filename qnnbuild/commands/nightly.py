"""qnnbuild nightly BEFORE AFTER: what a night found, in one issue that comes and goes with it."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from qnnbuild.commands.build_sides import told_side
from qnnbuild.engine.folder import REPORT
from qnnbuild.engine.github import Issue, Issues
from qnnbuild.engine.report_file import write
from qnnbuild.errors import NotGood
from qnnbuild.report.diff import Side
from qnnbuild.report.fail_on import NOTHING, TAKES, limits_of
from qnnbuild.report.history import with_history
from qnnbuild.report.night import MARKER, Night, night
from qnnbuild.report.summary import Told

LABEL = "qnnbuild-nightly"
JUDGED = "cpu,sqnr<-1dB,gone"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("before", type=Path, help="the last good night's build; it may be missing")
    parser.add_argument("after", type=Path, help="this night's build, a folder as build/ is")
    parser.add_argument(
        "--fail-on",
        action="append",
        metavar="BAR",
        help=f"what of a change is bad: {TAKES}; {JUDGED} when left out. What failed always is",
    )
    parser.add_argument("--url", help="of the run, where more is to be read")
    parser.add_argument(
        "--result",
        help="how the build ended, as GitHub calls it: what is not `success` is bad",
    )
    parser.add_argument(
        "--issue",
        action="store_true",
        help=f"open, change, reopen or close the one issue with the label {LABEL}, with `gh`",
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help="have report.html of this night say at its top what is otherwise than on the last",
    )
    parser.add_argument(
        "--accept", action="store_true", help="take this night as good, whatever has changed"
    )


def run(args: Namespace) -> int:
    limits = limits_of([NOTHING] if args.accept else args.fail_on or [JUDGED])
    before, after = told_side(args.before), told_side(args.after)
    found = night(before, after, limits, args.url, args.result)
    print(found.body, end="")
    if args.report and after is not None and after.told is not None:
        _remember(before, after.told, args.after / REPORT)
    if args.issue:
        done = keep(Issues(LABEL), found)
        print(f"the issue: {done}", file=sys.stderr)
    if not found.good:
        raise NotGood(found.title, hint=f"it is told on stdout{' and in the issue' * args.issue}")
    return 0


def _remember(before: Side | None, told: Told, page: Path) -> None:
    """What the page of the night before knows of earlier ones goes on in this one."""
    known = before.told if before is not None else None
    write(with_history(told, known, apart=True), page)


def keep(issues: Issues, found: Night) -> str:
    """Have one issue say what was found, open as long as it is bad; what was done to it."""
    ours = [issue for issue in issues.all() if MARKER in issue.body]
    if not ours:
        if found.good:
            return "none is needed"
        issues.make(found.title, found.body)
        return "opened"
    return _change(issues, ours[0], found)


def _change(issues: Issues, issue: Issue, found: Night) -> str:
    if found.good and not issue.is_open:
        return f"#{issue.number} stays closed"
    same = issue.body.rstrip() == found.body.rstrip()
    if not same:
        issues.edit(issue, found.title, found.body)
    if found.good:
        issues.close(issue, "All is well again.")
        return f"#{issue.number} closed"
    if not issue.is_open:
        issues.reopen(issue)
        return f"#{issue.number} opened again"
    return f"#{issue.number} says it already" if same else f"#{issue.number} changed"
