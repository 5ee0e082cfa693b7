"""qnnbuild report: all that was built as one HTML file, or as data."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from qnnbuild.commands.columns import print_json
from qnnbuild.engine.report_file import told, write
from qnnbuild.report.summary import STATES, summary
from qnnbuild.session import open_builder, open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the same as data, on stdout")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the page goes (build/report.html)"
    )


def run(args: Namespace) -> int:
    session = open_session(bad_left_out=True)
    with open_builder(session, only_look=True) as builder:
        found = told(session.subject, builder)
        path = Path(args.output) if args.output else builder.folder.root / "report.html"
    if args.json:
        print_json(found)
    if not args.json or args.output:
        write(found, path)
    if not args.json:
        counts = summary(found).states
        cells = ", ".join(f"{counts[state]:,} {word}" for state, word in STATES.items())
        print(f"{path}: {cells}", file=sys.stderr)
    return 0
