"""qnnbuild report: all that was built as one HTML file, or as data."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from qnnbuild.commands.columns import print_json
from qnnbuild.commands.inspect import look_at
from qnnbuild.engine.report_file import told, write
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
        "-o", "--output", metavar="FILE", help="where the page goes (build/report.html)"
    )


def run(args: Namespace) -> int:
    session = open_session(bad_left_out=True)
    with open_builder(session, only_look=True) as builder:
        found = told(session.subject, builder)
        path = Path(args.output) if args.output else builder.folder.root / "report.html"
    if args.profile:
        found["profiles"] = [_profile(path) for path in args.profile]
    if args.json:
        print_json(found)
    if not args.json or args.output:
        write(found, path)
    if not args.json:
        counts = summary(found).states
        cells = ", ".join(f"{counts[state]:,} {word}" for state, word in STATES.items())
        print(f"{path}: {cells}", file=sys.stderr)
    return 0


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
