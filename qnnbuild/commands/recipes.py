"""qnnbuild recipes: the recipe files of this repo and what each stands for."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import Counter

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the recipes as data")


def run(args: Namespace) -> int:
    session = open_session()
    models = {target.recipe: target.model for target in session.targets}
    targets = Counter(target.recipe for target in session.targets)
    actions = Counter(action.group for action in session.plan)
    if args.json:
        print_json(
            [
                {
                    "recipe": path,
                    "model": models[path],
                    "targets": targets[path],
                    "actions": actions[models[path]],
                }
                for path in models
            ]
        )
        return 0
    print_rows(
        [(path, model, str(targets[path]), str(actions[model])) for path, model in models.items()],
        ("recipe", "model", "targets", "actions"),
    )
    return 0
