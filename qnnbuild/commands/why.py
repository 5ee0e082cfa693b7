"""qnnbuild why PATTERN: why an action would run, with old and new values."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from qnnbuild.commands.columns import print_json
from qnnbuild.commands.states import Found, described, kind_of, states
from qnnbuild.engine.state import Current
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("pattern", help="a name, a model, or a pattern with *")
    parser.add_argument("--json", action="store_true", help="the reasons as data")


def run(args: Namespace) -> int:
    session = open_session()
    names = session.plan.matching(args.pattern)
    found = states(session, session.plan.upto(names))
    if args.json:
        told = {n: {"state": kind_of(found[n]), "reasons": list(_lines(found[n]))} for n in names}
        print_json(told)
        return 0
    for name in names:
        print(f"{name}: {kind_of(found[name])}")
        for line in _lines(found[name]):
            print(f"  {line}")
    return 0


def _lines(found: Found) -> tuple[str, ...]:
    if isinstance(found, Current):
        record = found.record
        return (f"made {record.made} in {record.seconds:g} s; nothing that it depends on changed",)
    return described(found)
