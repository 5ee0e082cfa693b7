"""The command line: which commands there are, and what their errors look like."""

from __future__ import annotations

import argparse
import importlib
import json
import os
import sys
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NoReturn

from qnnbuild.engine.trust import NO, TRUST, YES
from qnnbuild.errors import QnnbuildError, RecipeError, StoreError, did_you_mean
from qnnbuild.text import render
from qnnbuild.text.shown import all_shown

COMMANDS = {
    "init": "make a new repo of recipes that builds at once",
    "build": "what `doit` does, safe in a repo of strangers: --no-trust runs no code of it",
    "check": "look for mistakes in recipes; builds nothing",
    "plan": "what would be looked at, in order: stale or current, and why",
    "matrix": "the plan cut into shares for several machines, as a CI matrix",
    "why": "why an action would run: old and new values",
    "show": "one action: options, inputs, key, record, log",
    "shell": "open a shell in an action's folder, with its inputs in place",
    "debug": "the layers of a graph on a chip, and where its numbers go wrong",
    "trace": "what the compiler made of each node, what fused, and what fell to the CPU",
    "graph": "the plan as a picture: what would run, why, and what stands on what",
    "report": "all that was built as one page: what failed, numbers, pictures",
    "rebuild": "build again beside the store and compare the bytes",
    "diff": "what changed between two builds, and whether it got worse",
    "nightly": "what a night's build found, in one issue that comes and goes with it",
    "inspect": "what a context binary, ctx.onnx, DLC or ONNX file is made for; times of a profile",
    "verify-bundle": "whether a bundle or archive is whole, signed, and for a chip and SDK",
    "sign": "signatures beside bundles and archives, by a key of the environment",
    "store": "what the store holds, whether it is whole, what can go; parts of it as a file",
    "strip": "a binary for several chips, made smaller for fewer of them",
    "chips": "the chips that can be built for; look one up by any of its names",
    "toolchains": "the toolchains, and what of them is on this machine",
    "models": "the models of this repo: graphs, variants, chips, licence",
    "migrate": "scripts and settings of other tools become recipes; what is left out is told",
    "recipes": "the recipe files of this repo",
    "doctor": "what is missing on this machine, and what mends it",
    "completion": "what makes a shell complete the words of qnnbuild",
}
"""Each is a module of qnnbuild.commands with `arguments(parser)` and `run(args) -> exit code`."""

ELSEWHERE = {"build": "qnnbuild.bridge.build"}
"""The one that knows doit."""


def main(argv: Sequence[str] | None = None) -> int:
    words = sys.argv[1:] if argv is None else argv
    if "_ARGCOMPLETE" in os.environ:  # a shell asks what could come next, and reads no errors
        from qnnbuild.commands.completion import complete

        complete(parser_of(COMMANDS.keys() & os.environ.get("COMP_LINE", "").split()))
    code = 0
    try:
        args = _parsed(words)
        with _output(args):
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


def _output(args: argparse.Namespace) -> AbstractContextManager[None]:
    """doit and a shell talk to the terminal themselves, and JSON has escapes of its own."""
    if getattr(args, "json", False) or args.run.__module__ in ELSEWHERE.values():
        return nullcontext()
    return all_shown(sys, os.environ)


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
    asked = next((word for word in argv if not word.startswith("-")), None)
    if asked is not None and asked not in COMMANDS:
        hint = did_you_mean(asked, COMMANDS, otherwise="all commands: qnnbuild --help")
        raise RecipeError(f"no command is called '{asked}'", hint=hint)
    ours, doits = _split(argv, asked)
    # the others' modules are not needed for this run
    args, left = parser_of(() if asked is None else (asked,)).parse_known_args(ours)
    if doits:
        args.words = doits
    if left:
        known = f"qnnbuild {asked} --help" if asked else "qnnbuild --help"
        raise RecipeError(f"'{left[0]}' means nothing here", hint=known)
    if asked is None:
        raise RecipeError("no command was given", hint="all commands: qnnbuild --help")
    if args.trust is not None:
        os.environ[TRUST] = YES if args.trust else NO
    return args


def _split(argv: Sequence[str], asked: str | None) -> tuple[Sequence[str], Sequence[str]]:
    """Our words, and those that doit is to read: argparse leaves no options to others."""
    if asked not in ELSEWHERE:
        return argv, ()
    at = argv.index(asked) + 1
    return (argv, ()) if {"-h", "--help"} & {*argv[at:]} else (argv[:at], argv[at:])


def parser_of(names: Collection[str]) -> argparse.ArgumentParser:
    """Knows all commands, and of these their arguments too."""
    parser = _Parser(
        prog="qnnbuild",
        description="Asks about builds of Qualcomm NPU models and helps with them; `doit` builds.",
        epilog="Exit codes: 2 what you wrote, 3 nothing matches, 4 a tool failed, "
        "5 made but not good, 6 store or disk, 7 out of time, 8 not trusted.",
    )
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version")
    _take_trust(parser, None)
    commands = parser.add_subparsers(metavar="COMMAND")
    for name, about in COMMANDS.items():
        one = commands.add_parser(name, help=about, description=about[0].upper() + about[1:] + ".")
        if name in names:
            ours = f"qnnbuild.commands.{name.replace('-', '_')}"
            module = importlib.import_module(ELSEWHERE.get(name, ours))
            _take_trust(one)
            module.arguments(one)
            one.set_defaults(run=module.run)
    return parser


def _take_trust(parser: argparse.ArgumentParser, default: object = argparse.SUPPRESS) -> None:
    parser.add_argument(
        "--trust",
        action=argparse.BooleanOptionalAction,
        default=default,
        help="code of this repo may run, or may not",
    )


class _Version(argparse.Action):
    """Looks the version up when it is asked for: that costs 30 ms."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib.metadata import version

        print(f"qnnbuild {version('qnnbuild')}")  # noqa: T201 - the answer
        parser.exit()


if __name__ == "__main__":
    sys.exit(main())
