"""qnnbuild shell NAME: a shell in an action's folder, inputs in place."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace

from qnnbuild.commands.names import one_name
from qnnbuild.engine.again import shell
from qnnbuild.engine.state import Waits
from qnnbuild.errors import NothingMatches
from qnnbuild.session import open_builder, open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="the name of an action: context/silero-vad/vad@SM8750")


def run(args: Namespace) -> int:
    session = open_session()
    name = one_name(session.plan, args.name)
    with open_builder(session) as builder:
        state = builder.state(name)
        if isinstance(state, Waits):
            raise NothingMatches(
                f"the inputs of {name} are not there yet",
                facts=[("it waits for", ", ".join(state.on))],
                hint=f"doit {' '.join(state.on)}",
            )
        print(
            f"{name}: inputs are in in/, outputs belong into out/; ./again does what the action "
            "does. The folder is gone when you leave (exit or Ctrl-D).",
            file=sys.stderr,
        )
        return shell(builder, name, builder.runner.outside)
