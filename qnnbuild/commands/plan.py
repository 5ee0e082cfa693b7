"""qnnbuild plan [PATTERN]: what would be looked at, in order, with the reason."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.commands.states import described, kind_of, states, summary
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "pattern", nargs="?", default="*", help="a name, a model, or a pattern with *"
    )
    parser.add_argument("--json", action="store_true", help="the plan as data")
    parser.add_argument("--stale", action="store_true", help="only what would run")


def run(args: Namespace) -> int:
    session = open_session()
    names = session.plan.matching(args.pattern) if len(session.plan) else ()
    part = session.plan.upto(names)
    found = states(session, part)
    shown = [a for a in part if not args.stale or kind_of(found[a.name]) != "current"]
    if args.json:
        print_json(
            [
                {
                    "name": action.name,
                    "step": action.step,
                    "needs": list(action.needs()),
                    "state": kind_of(found[action.name]),
                    "reasons": list(described(found[action.name])),
                }
                for action in shown
            ]
        )
        return 0
    print_rows(
        [
            (kind_of(found[action.name]), action.name, "; ".join(described(found[action.name])))
            for action in shown
        ]
    )
    print(summary(found.values()), file=sys.stderr)
    return 0
