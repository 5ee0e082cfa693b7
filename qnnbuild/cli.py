"""The command line: which commands there are, and what their errors look like."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from qnnbuild.errors import QnnbuildError, RecipeError, StoreError, did_you_mean
from qnnbuild.text import render

COMMANDS = {
    "init": "make a new repo of recipes that builds at once",
    "check": "look for mistakes in recipes; builds nothing",
    "plan": "what would be looked at, in order: stale or current, and why",
    "matrix": "the plan cut into shares for several machines, as a CI matrix",
    "why": "why an action would run: old and new values",
    "show": "one action: options, inputs, key, record, log",
    "shell": "open a shell in an action's folder, with its inputs in place",
    "debug": "the layers of a graph on a chip, and where its numbers go wrong",
    "trace": "what the compiler made of each node, what fused, and what fell to the CPU",
    "report": "all that was built as one page: what failed, numbers, pictures",
    "rebuild": "build again beside the store and compare the bytes",
    "diff": "what changed between two builds, and whether it got worse",
    "inspect": "what a context binary, ctx.onnx, DLC or ONNX file is made for; times of a profile",
    "store": "what the store holds, whether it is whole, what can go; parts of it as a file",
    "strip": "a binary for several chips, made smaller for fewer of them",
    "chips": "the chips that can be built for; look one up by any of its names",
    "toolchains": "the toolchains, and what of them is on this machine",
    "models": "the models of this repo: graphs, variants, chips, licence",
    "recipes": "the recipe files of this repo",
    "doctor": "what is missing on this machine, and what mends it",
}
"""Each is a module of qnnbuild.commands with `arguments(parser)` and `run(args) -> exit code`."""


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    code = 0
    try:
        args = _parsed(words)
        code = args.run(args)
        sys.stdout.flush()
    except QnnbuildError as error:
        tell(error, as_json="--json" in words)
        code = error.exit_code
    except BrokenPipeError:
        # the reader has seen enough; Python would complain once more when it flushes at its end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        refused = _refused(error)
        tell(refused, as_json="--json" in words)
        code = refused.exit_code
    except KeyboardInterrupt:
        code = 130
    return code


def tell(error: QnnbuildError, *, as_json: bool = False) -> None:
    """Say what is wrong on stderr, in the form that whoever reads it can use."""
    if as_json:
        text = json.dumps({"problems": render.as_json(error.problems)}, ensure_ascii=False) + "\n"
    elif os.environ.get("GITHUB_ACTIONS") == "true":
        text = render.github(error.problems)
    else:
        colour = render.wants_colour(sys.stderr, os.environ)
        text = render.terminal(error.problems, colour=colour)
    sys.stderr.write(text)


def _refused(error: OSError) -> StoreError:
    """What the disk refuses in a place where nobody counted on it."""
    facts = [("file", os.fsdecode(error.filename))] if error.filename else []
    return StoreError(f"the disk refuses: {error.strerror or error}", facts=facts)


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with the command line as everything else is said."""

    def error(self, message: str) -> NoReturn:
        raise RecipeError(f"{self.prog}: {message}", hint=f"{self.prog} --help")


def _parsed(argv: Sequence[str]) -> argparse.Namespace:
    parser = _Parser(
        prog="qnnbuild",
        description="Asks about builds of Qualcomm NPU models and helps with them; `doit` builds.",
        epilog="Exit codes: 2 what you wrote, 3 nothing matches, 4 a tool failed, "
        "5 made but not good, 6 store or disk.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    commands = parser.add_subparsers(metavar="COMMAND")
    asked = next((word for word in argv if not word.startswith("-")), None)
    if asked is not None and asked not in COMMANDS:
        hint = did_you_mean(asked, COMMANDS, otherwise="all commands: qnnbuild --help")
        raise RecipeError(f"no command is called '{asked}'", hint=hint)
    for name, about in COMMANDS.items():
        one = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        if name == asked:  # the others' modules are not needed for this run
            module = importlib.import_module(f"qnnbuild.commands.{name}")
            module.arguments(one)
            one.set_defaults(run=module.run)
    args, left = parser.parse_known_args(argv)
    if left:
        known = f"qnnbuild {asked} --help" if asked else "qnnbuild --help"
        raise RecipeError(f"'{left[0]}' means nothing here", hint=known)
    if asked is None:
        raise RecipeError("no command was given", hint="all commands: qnnbuild --help")
    return args


class _Version(argparse.Action):
    """Looks the version up when it is asked for: that costs 30 ms."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"qnnbuild {version('qnnbuild')}")  # noqa: T201 - the answer
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
