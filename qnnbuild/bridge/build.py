"""qnnbuild build: doit, which takes nothing of the repo but its recipes where that is not trusted.

Plain doit reads pyproject.toml, doit.cfg and dodo.py before anything of ours runs, and each of
them can make it run whatever it likes: in a repo of strangers this is the way to build.
"""

from __future__ import annotations

import os
import sys
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from qnnbuild.engine.only_recipes import nothing_to_do
from qnnbuild.engine.trust import NO, TRUST, YES, trust_of

READ_BY_DOIT = ("pyproject.toml", "doit.cfg")


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words", nargs="*", metavar="…", help="what doit run takes: -n 4 --continue NAME"
    )


def run(args: Namespace) -> int:
    began = time.monotonic()
    words = _without_trust(args.words)
    told = nothing_to_do(str(Path.cwd()), words, began, _say)
    if told is None:
        return _doit(words)
    _say(told)
    return 0


def _say(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _doit(words: Sequence[str]) -> int:
    from doit.doit_cmd import DoitMain

    from qnnbuild.bridge.dodo import PLUGINS

    files = READ_BY_DOIT if trust_of(os.environ).given else ()
    ours = {"GLOBAL": {"loader": "qnnbuild"}, **PLUGINS}
    code: int = DoitMain(extra_config=ours, config_filenames=files).run(["run", *words])
    return code


def _without_trust(words: Sequence[str]) -> list[str]:
    """What is left for doit; whether the repo is trusted has to be known before doit begins."""
    said = {word for word in words if word == "--trust" or _is_no(word)}
    if said:
        os.environ[TRUST] = NO if any(_is_no(word) for word in said) else YES
    return [word for word in words if word not in said]


def _is_no(word: str) -> bool:
    """doit takes the beginning of an option for the whole, and so has who types it."""
    return word.startswith("--no-t") and "--no-trust".startswith(word)
