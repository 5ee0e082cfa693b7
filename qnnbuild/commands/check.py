"""qnnbuild check [FILES]: mistakes in recipes, all of them; builds nothing."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sized

from qnnbuild.commands.columns import print_json
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", help="recipes; all of the repo when none is given")
    parser.add_argument("--json", action="store_true", help="the result as data")


def run(args: Namespace) -> int:
    session = open_session(files=args.files or None)
    recipes = {target.recipe for target in session.targets}
    many: Mapping[str, Sized] = {
        "recipe": recipes,
        "target": session.targets,
        "action": session.plan,
    }
    if args.json:
        print_json({**{f"{word}s": len(found) for word, found in many.items()}, "problems": []})
        return 0
    told = ", ".join(f"{len(f)} {word}{'' if len(f) == 1 else 's'}" for word, f in many.items())
    print(f"{told}: no mistakes", file=sys.stderr)
    return 0
