"""qnnbuild completion SHELL: the lines that make a shell complete commands, options and names."""

from __future__ import annotations

from argparse import Action, ArgumentParser, Namespace, _SubParsersAction
from collections.abc import Callable, Iterable, Iterator

import argcomplete
from argcomplete.shell_integration import shellcode

from qnnbuild.engine.leases import checkout_of
from qnnbuild.engine.places import RECORDS
from qnnbuild.engine.records import Records
from qnnbuild.errors import QnnbuildError
from qnnbuild.repo import find_root, open_chips, store_folder

SHELLS = ("bash", "zsh", "fish", "powershell")
Completer = Callable[..., Iterable[str]]


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=SHELLS, help='bash: eval "$(qnnbuild completion bash)"')


def run(args: Namespace) -> int:
    print(shellcode(["qnnbuild"], shell=args.shell))
    return 0


def complete(parser: ArgumentParser) -> None:
    """Answer the shell that asks, and end the process; return when none does."""
    for action in _arguments(parser):
        completer = COMPLETERS.get(action.dest)
        if completer is not None and action.choices is None:
            action.completer = completer  # type: ignore[attr-defined] # argcomplete looks there
    argcomplete.autocomplete(parser, always_complete_options="long")


def _arguments(parser: ArgumentParser) -> Iterator[Action]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other door
        yield action
        if isinstance(action, _SubParsersAction):
            for one in action.choices.values():
                yield from _arguments(one)


def _names(**_: object) -> list[str]:
    """Actions that were built here, and models: out of the records, which is quick."""
    try:
        root = find_root()
        file = store_folder(root) / RECORDS
        if not file.exists():
            return []
        records = Records(file, checkout_of(root))
    except QnnbuildError:  # a shell that completes is no place for it; the command itself tells
        return []
    try:
        names = [*records.last()]
    finally:
        records.close()
    return [*names, *dict.fromkeys(name.split("/")[1].partition("@")[0] for name in names)]


def _chips(**_: object) -> list[str]:
    try:
        return [chip.name for chip in open_chips()]
    except QnnbuildError:
        return []


COMPLETERS: dict[str, Completer] = {
    "pattern": _names, "name": _names, "words": _chips, "chip": _chips, "chips": _chips,
}  # fmt: skip
"""What an argument is called → what can stand there."""
