"""qnnbuild why PATTERN: why an action would run, with old and new values."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping

from qnnbuild.commands.columns import print_json
from qnnbuild.commands.states import Found, described, kind_of, runs_first, states
from qnnbuild.engine.state import Current, Waits
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", help="a name, a model, or a pattern with *")
    parser.add_argument("--json", action="store_true", help="the reasons as data")


def run(args: Namespace) -> int:
    session = open_session()
    names = session.plan.matching(args.pattern)
    found = states(session, session.plan.upto(names))
    if args.json:
        told = {n: {"state": kind_of(found[n]), "reasons": list(_lines(n, found))} for n in names}
        print_json(told)
        return 0
    for name in names:
        print(f"{name}: {kind_of(found[name])}")
        for line in _lines(name, found):
            print(f"  {line}")
    return 0


def _lines(name: str, found: Mapping[str, Found]) -> tuple[str, ...]:
    state = found[name]
    if isinstance(state, Current):
        record = state.record
        return (f"made {record.made} in {record.seconds:g} s; nothing that it depends on changed",)
    if isinstance(state, Waits):
        return (*described(state), *runs_first(name, found))
    return described(state)
