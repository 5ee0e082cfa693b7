"""qnnbuild report: all that was built as one HTML file, or as data."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from qnnbuild.commands.columns import print_json
from qnnbuild.commands.inspect import look_at
from qnnbuild.engine.folder import REPORT
from qnnbuild.engine.report_file import told, told_by, write, write_here
from qnnbuild.errors import NothingMatches
from qnnbuild.formats.chrome_trace import ChromeTraceFacts
from qnnbuild.formats.profile_csv import ProfileFacts
from qnnbuild.report.profile import profile_told
from qnnbuild.report.summary import STATES, summary
from qnnbuild.session import open_builder, open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the same as data, on stdout")
    parser.add_argument(
        "--profile", action="append", default=[], type=Path, metavar="FILE",
        help="times that a device measured: the plugin's CSV or a Chrome trace; may be given again",
    )  # fmt: skip
    parser.add_argument(
        "--since", type=Path, metavar="PAGE",
        help="the report of the night before, or the folder that it is in: what is otherwise now "
        "stands at the top, and what it knows of nights before it is taken over",
    )  # fmt: skip
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the page goes (build/report.html)"
    )


def run(args: Namespace) -> int:
    since = _since(args.since) if args.since is not None else None
    session = open_session(bad_left_out=True)
    with open_builder(session, only_look=True) as builder:
        found = told(session.subject, builder, since)
        if args.profile:
            found["profiles"] = [_profile(path) for path in args.profile]
        path = Path(args.output) if args.output else builder.folder.root / REPORT
        if args.output:
            write(found, path)
        elif not args.json:
            write_here(found, builder)
    if args.json:
        print_json(found)
    else:
        counts = summary(found).states
        cells = ", ".join(f"{counts[state]:,} {word}" for state, word in STATES.items())
        print(f"{path}: {cells}", file=sys.stderr)
    return 0


def _since(path: Path) -> dict[str, Any]:
    file = path / REPORT if path.is_dir() else path
    found = told_by(file)
    if found is None:
        what = (
            "there is no such file" if not file.exists() else "it is none that this qnnbuild made"
        )
        raise NothingMatches(
            f"{file} is no report: {what}",
            hint="--since takes a build/report.html of another night",
        )
    return found


def _profile(path: Path) -> dict[str, Any]:
    finding = look_at(path)
    if finding.error:
        raise NothingMatches(f"{path}: {finding.error}")
    if not isinstance(finding.facts, ProfileFacts | ChromeTraceFacts):
        raise NothingMatches(
            f"{path} is no profile",
            hint="what a run with profiling_level writes, or qnn-profile-viewer made of it",
        )
    return profile_told(path.name, finding.facts, finding.rows)
