"""qnnbuild toolchains: the toolchains of this repo, and what of them is on this machine."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import QnnbuildError
from qnnbuild.repo import open_sdks, open_toolchains


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the toolchains as data")


def run(args: Namespace) -> int:
    stats = Stats()
    identity = Identity(stats, open_sdks(stats))
    rows = [
        (name, tool, _measured(identity, tool))
        for name, toolchain in open_toolchains().items()
        for tool in toolchain.tools
    ]
    if args.json:
        print_json([{"toolchain": t, "tool": tool, "here": here} for t, tool, here in rows])
        return 0
    head = ("toolchain", "tool", "on this machine")
    print_rows([(t, tool, here or "nothing") for t, tool, here in rows], head)
    return 0


def _measured(identity: Identity, tool: str) -> str | None:
    """Version and digest of a tool; None when it is not there."""
    try:
        return identity.measure(tool)
    except QnnbuildError:
        return None
