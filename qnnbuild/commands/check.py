"""qnnbuild check [FILES]: mistakes in recipes, all of them; builds nothing.

An editor calls it at each change, so models are read only with --operators.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.commands.columns import print_json
from qnnbuild.digest import Json
from qnnbuild.engine.places import BUILD
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.tracked import tracked_problems
from qnnbuild.engine.trust import trust_of
from qnnbuild.errors import Problem, RecipeError
from qnnbuild.session import Session, open_session
from qnnbuild.text.render import as_json


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="*", help="recipes; all of the repo when none is given")
    parser.add_argument(
        "--operators",
        action="store_true",
        help="also tell what will run on the CPU and what will fuse, where a model is at hand",
    )
    parser.add_argument("--json", action="store_true", help="the result as data")


def run(args: Namespace) -> int:
    try:
        session = open_session(files=args.files or None, bad_left_out=True)
    except RecipeError as error:  # settings or chips are wrong: nothing can be said of recipes
        if args.json:
            return _as_data({}, error.problems)
        raise
    counts = _counts(session)
    problems = [*session.problems, *_came_along(session)]
    if args.json:
        data = _operators(session) if args.operators else {}
        return _as_data({**counts, **data}, problems)
    if _are_wrong(problems):
        raise RecipeError.of(problems)
    for problem in problems:
        tell(problem)
    if not session.recipes:
        print(f"no recipes: nothing matches {', '.join(session.settings.recipes)}", file=sys.stderr)
        return 0
    told = ", ".join(f"{n} {word[:-1] if n == 1 else word}" for word, n in counts.items())
    print(f"{told}: no mistakes", file=sys.stderr)
    if args.operators:
        _print_operators(session)
    return 0


def _came_along(session: Session) -> Iterator[Problem]:
    """What only builds write, and came with the repo."""
    folders = {"the store": session.store_folder, "build/": session.root / BUILD}
    return tracked_problems(trust_of(os.environ), session.root, folders)


def _operators(session: Session) -> dict[str, Json]:
    from qnnbuild.commands.foreseen import as_data, foreseen  # onnx takes a while to load

    return {"operators": as_data(list(foreseen(session)))}


def _print_operators(session: Session) -> None:
    from qnnbuild.commands.foreseen import foreseen, lines

    for one in foreseen(session):
        print("\n".join(lines(one)))


def _counts(session: Session) -> dict[str, int]:
    recipes = {target.recipe for target in session.targets}
    return {"recipes": len(recipes), "targets": len(session.targets), "actions": len(session.plan)}


def _as_data(counts: Mapping[str, Json], problems: Sequence[Problem]) -> int:
    """What is wrong is the answer here, so it goes where answers go."""
    print_json({**counts, "problems": as_json(problems)})
    return RecipeError.exit_code if _are_wrong(problems) else 0


def _are_wrong(problems: Sequence[Problem]) -> bool:
    return any(problem.severity == "error" for problem in problems)
