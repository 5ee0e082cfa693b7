"""qnnbuild check [FILES]: mistakes in recipes, all of them; builds nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from qnnbuild.commands.columns import print_json
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", help="recipes; all of the repo when none is given")
    parser.add_argument("--json", action="store_true", help="the result as data")


def run(args: Namespace) -> int:
    session = open_session(files=args.files or None)
    recipes = {target.recipe for target in session.targets}
    if args.json:
        told = {"recipes": len(recipes), "targets": len(session.targets), "actions": len(session.plan)}
        print_json({**told, "problems": []})
        return 0
    print(
        f"{len(recipes)} recipes, {len(session.targets)} targets, {len(session.plan)} actions: no mistakes",
        file=sys.stderr,
    )
    return 0
