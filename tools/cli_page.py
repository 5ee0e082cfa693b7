"""docs/cli.md out of the parsers of the command line: `python -m tools.cli_page`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

from qnnbuild.cli import COMMANDS, parser_of

PAGE = Path(__file__).parents[1] / "docs" / "cli.md"
HEAD = """\
# Commands

Made by `python -m tools.cli_page` from the parsers of the command line. Commands by what they are
for stand in the [manual](manual.md#asking), what `doit` takes [there too](manual.md#building), and
exit codes [below it](manual.md#exit-codes).

Each command takes `--trust` or `--no-trust`: whether code of this repo may run ([trust](trust.md)).
"""
OF_ALL = {"--help", "--trust"}
"""What every command has is said once."""


def page() -> str:
    """The whole page; the same on each Python, since nothing of argparse's own layout is in it."""
    parts = [HEAD]
    for name, parser in subparsers(parser_of(COMMANDS)).items():
        parts += section(f"qnnbuild {name}", parser)
    return "\n".join(parts)


def section(name: str, parser: argparse.ArgumentParser) -> Iterator[str]:
    """A command, and those below it."""
    about = (parser.description or "").replace("%%", "%")
    below = subparsers(parser)
    yield f"## `{name}`\n"
    if about:
        yield f"{about}\n"
    rows = [row(action) for action in actions(parser) if is_told(action)]
    if rows:
        yield "| argument | meaning |\n|---|---|"
        yield "\n".join(rows) + "\n"
    for word, one in below.items():
        yield from section(f"{name} {word}", one)


def is_told(action: argparse.Action) -> bool:
    return not (
        hasattr(action, "add_parser")
        or OF_ALL & {*action.option_strings}
        or action.help == argparse.SUPPRESS
    )


def row(action: argparse.Action) -> str:
    words = [f"`{spelling(action, option)}`" for option in action.option_strings]
    about = (action.help or "") % {"default": action.default, "prog": "qnnbuild"}
    told = about.replace("|", "\\|").replace("<", "&lt;")
    return f"| {', '.join(words) or f'`{positional(action)}`'} | {told} |"


def spelling(action: argparse.Action, option: str) -> str:
    """An option and what follows it."""
    if action.nargs == 0 or isinstance(action, argparse.BooleanOptionalAction):
        return option
    return f"{option} {value(action)}"


def positional(action: argparse.Action) -> str:
    if action.metavar == "…":
        return "…"
    many = {"*": "[{}…]", "+": "{}…", "?": "[{}]"}.get(str(action.nargs), "{}")
    return many.format(value(action))


def value(action: argparse.Action) -> str:
    if action.choices is not None:
        return "\\|".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper().replace("_", "-"))


def subparsers(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands below one."""
    found: dict[str, argparse.ArgumentParser] = {}
    for action in actions(parser):
        if hasattr(action, "add_parser"):
            found |= dict(action.choices or {})
    return found


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # noqa: SLF001 - argparse has no other door


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
