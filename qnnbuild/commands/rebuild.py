"""qnnbuild rebuild PATTERN: build again beside the store, and compare the bytes."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from qnnbuild.actions.record import Tree
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.digest import Json
from qnnbuild.engine.again import rebuild
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.state import Current
from qnnbuild.errors import NotGood, NothingMatches
from qnnbuild.session import open_builder, open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", help="a name, a model, or a pattern with *; all must be built")
    parser.add_argument("--json", action="store_true", help="the comparison as data")


def run(args: Namespace) -> int:
    session = open_session()
    names = session.plan.matching(args.pattern)
    rows: list[tuple[str, str, str, str]] = []
    with open_builder(session) as builder:
        for name in names:
            rows += _compare(builder, name)
    if args.json:
        print_json([_data(*row) for row in rows])
    else:
        print_rows([(verdict, name, path, digest) for verdict, name, path, digest in rows])
    return NotGood.exit_code if any(verdict != "same" for verdict, *_ in rows) else 0


def _compare(builder: Builder, name: str) -> list[tuple[str, str, str, str]]:
    if not isinstance(builder.state(name), Current):
        raise NothingMatches(
            f"{name} is not built, so there is nothing to compare", hint=f"doit {name}"
        )
    stored, now = rebuild(builder, name)
    return [row for output in stored for row in _files(name, output, stored[output], now[output])]


def _files(name: str, output: str, stored: Tree, now: Tree) -> list[tuple[str, str, str, str]]:
    rows = []
    for path in sorted(stored.files.keys() | now.files.keys()):
        before, after = stored.files.get(path), now.files.get(path)
        if before == after and before is not None:
            rows.append(("same", name, f"{output}/{path}", before[0][:16]))
        else:
            digests = [entry[0][:16] if entry else "nothing" for entry in (before, after)]
            rows.append(("differs", name, f"{output}/{path}", " → ".join(digests)))
    return rows


def _data(verdict: str, name: str, path: str, digest: str) -> dict[str, Json]:
    return {"verdict": verdict, "name": name, "file": path, "sha256": digest}
