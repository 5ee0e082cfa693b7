"""qnnbuild rebuild PATTERN: build again beside the store, and compare the bytes."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from qnnbuild.actions.record import Tree
from qnnbuild.commands.columns import print_json
from qnnbuild.engine.again import rebuild
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.state import Current
from qnnbuild.errors import NotGood, NothingMatches
from qnnbuild.session import open_builder, open_session

SHOWN = 16
"""So many digits of a digest tell two files apart."""


@dataclass(frozen=True, kw_only=True)
class Compared:
    """One file of an output. A digest is None where the file is not there."""

    name: str
    file: str
    stored: str | None
    now: str | None

    @property
    def verdict(self) -> str:
        return "same" if self.stored == self.now else "differs"


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", help="a name, a model, or a pattern with *; all must be built")
    parser.add_argument("--json", action="store_true", help="the comparison as data")


def run(args: Namespace) -> int:
    session = open_session()
    names = session.plan.matching(args.pattern)
    width = max(len(name) for name in names)
    found: list[Compared] = []
    with open_builder(session) as builder:
        _refuse_unbuilt(builder, names)
        for name in names:
            for one in _compare(builder, name):
                found.append(one)
                if not args.json:  # as it comes: a zoo takes its minutes
                    digests = " → ".join(dict.fromkeys([_shown(one.stored), _shown(one.now)]))
                    row = f"{one.verdict:<7}  {name:<{width}}  {digests}  {one.file}"
                    print(row, flush=True)
    if args.json:
        print_json([{"verdict": one.verdict, **asdict(one)} for one in found])
    different = sum(one.verdict != "same" for one in found)
    same = f"{len(found)} files, all the same"
    told = f"{different} of {len(found)} files differ" if different else same
    print(told, file=sys.stderr)
    return NotGood.exit_code if different else 0


def _refuse_unbuilt(builder: Builder, names: tuple[str, ...]) -> None:
    unbuilt = [name for name in names if not isinstance(builder.state(name), Current)]
    if unbuilt:
        first, more = unbuilt[0], len(unbuilt) - 1
        told = f"{first} and {more} more are not built" if more else f"{first} is not built"
        raise NothingMatches(
            f"{told}, so there is nothing to compare",
            hint="build them first: doit" if more else f"build it first: doit {first}",
        )


def _compare(builder: Builder, name: str) -> Iterator[Compared]:
    stored, now = rebuild(builder, name)
    for output in stored:
        yield from _files(name, output, stored[output], now[output])


def _files(name: str, output: str, stored: Tree, now: Tree) -> Iterator[Compared]:
    for path in sorted(stored.files.keys() | now.files.keys()):
        before, after = stored.files.get(path), now.files.get(path)
        yield Compared(
            name=name,
            file=f"{output}/{path}",
            stored=before[0] if before else None,
            now=after[0] if after else None,
        )


def _shown(digest: str | None) -> str:
    return digest[:SHOWN] if digest else "nothing"
