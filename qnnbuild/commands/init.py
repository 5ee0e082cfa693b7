"""qnnbuild init [DIR] [--from MODEL.onnx]: a repo of recipes that builds at once.

With --from it is about a model of one's own: in a repo its recipe is added, elsewhere all that a
repo needs is made around it.
"""

from __future__ import annotations

import shlex
import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from qnnbuild.commands.starter import starter_files
from qnnbuild.engine.new_files import write_new
from qnnbuild.errors import RecipeError


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "folder",
        type=Path,
        nargs="?",
        help="the new repo; it may exist when it is empty. With --from: this folder by default",
    )
    add = parser.add_argument
    add(
        "--from",
        dest="models",
        action="append",
        default=[],
        metavar="ONNX",
        help="an ONNX file: its recipe is written; once for each graph of the model",
    )
    add(
        "--chips",
        action="append",
        default=[],
        help="with --from: chips as qnnbuild chips knows them, between commas: "
        "'Snapdragon 8 Elite,SM8550', @phones",
    )
    _take_sizes(parser)
    add(
        "--output",
        action="append",
        default=[],
        metavar="TENSOR",
        help="with --from: keep this tensor as an output, and cut the graph behind it",
    )
    add("--name", help="with --from: what the model is called; else after its file")
    add("--yes", action="store_true", help="with --from: ask nothing, take every guess")


def _take_sizes(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "--shape",
        action="append",
        default=[],
        metavar="INPUT=1,3,224,224",
        help="with --from: the shape of an input that the file leaves open",
    )
    add(
        "--dim",
        action="append",
        default=[],
        metavar="NAME=128",
        help="with --from: the size of an open dimension, by its name in the file",
    )


def run(args: Namespace) -> int:
    if args.models:
        from qnnbuild.commands.init_from import init_from  # onnx takes a while to load

        return init_from(args)
    if args.folder is None:
        raise RecipeError(
            "nothing says where the new repo is to be",
            hint="qnnbuild init DIR, or qnnbuild init --from MODEL.onnx for a model of your own",
        )
    for option in ("chips", "name", "shape", "dim", "output"):
        if getattr(args, option):
            raise RecipeError(
                f"--{option} says something of a model, and there is none",
                hint=f"qnnbuild init {args.folder} --from MODEL.onnx --{option} …",
            )
    return _new_repo(args.folder)


def _new_repo(folder: Path) -> int:
    # an empty repo that was just cloned or made by `git init` is as good as a new folder
    if folder.exists() and (not folder.is_dir() or any(p.name != ".git" for p in folder.iterdir())):
        raise RecipeError(
            f"{folder} is there already and not empty",
            hint="give the name of a new folder; qnnbuild init --from MODEL.onnx adds a recipe",
        )
    write_new(starter_files(folder, example=True))
    here = folder.resolve() == Path.cwd()
    go = "doit" if here else f"cd {shlex.quote(str(folder))} && doit"
    print(f"made {'a repo here' if here else folder}; now: {go}", file=sys.stderr)
    return 0
