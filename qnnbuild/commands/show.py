"""qnnbuild show NAME: one action: options, inputs, key, record, log."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles, SourceOnnx
from qnnbuild.actions.record import Record
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.commands.names import one_name
from qnnbuild.commands.states import Found, described, kind_of, states
from qnnbuild.digest import Json, plain
from qnnbuild.engine.runner import last_lines, without_colour
from qnnbuild.engine.state import Current, Stale
from qnnbuild.session import Session, open_session, open_store


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("name", help="the name of an action: context/silero-vad/vad@SM8750")
    parser.add_argument("--json", action="store_true", help="everything as data")
    parser.add_argument("--log", action="store_true", help="the whole log of its last run")


def run(args: Namespace) -> int:
    session = open_session()
    action = session.plan[one_name(session.plan, args.name)]
    found = states(session, session.plan.upto([action.name]))[action.name]
    if args.json:
        print_json(_data(action, found))
    elif args.log:
        print(_log(session, found), end="")
    else:
        _print(session, action, found)
    return 0


def _key(found: Found) -> str | None:
    if isinstance(found, Current):
        return found.record.key
    return found.key if isinstance(found, Stale) else None


def _log(session: Session, found: Found) -> str:
    key = _key(found)
    path = open_store(session).log(key) if key else None
    if path is None or not path.exists():
        return "no log: it has not run with its present key\n"
    return without_colour(path.read_text(errors="replace"))


def _data(action: Action, found: Found) -> Json:
    record = found.record if isinstance(found, Current) else None
    return {
        "name": action.name,
        "step": action.step,
        "call": action.call,
        "argv": list(action.argv),
        "params": plain(action.params),
        "inputs": {name: _input(source) for name, source in action.inputs.items()},
        "outputs": list(action.outputs),
        "env": dict(action.env),
        "deadline_s": action.deadline_s,
        "state": kind_of(found),
        "reasons": list(described(found)),
        "key": _key(found),
        "record": json.loads(record.to_json()) if record else None,
    }


def _print(session: Session, action: Action, found: Found) -> None:
    rows = [
        ("name", action.name),
        ("about", action.about),
        ("does", action.call or " ".join(action.argv)),
        *((f"input {name}", _input(source)) for name, source in action.inputs.items()),
        *(
            (f"param {name}", json.dumps(plain(v), ensure_ascii=False))
            for name, v in action.params.items()
        ),
        ("state", kind_of(found)),
        *(("", reason) for reason in described(found)),
    ]
    if isinstance(found, Current):
        rows += _record_rows(found.record)
    elif isinstance(found, Stale):
        rows.append(("key", found.key))
    print_rows(rows)
    key = _key(found)
    log = open_store(session).log(key) if key else None
    if log is not None and log.exists():
        print(f"\nlog: {log}")
        for line in last_lines(log):
            print(f"  {line}")


def _record_rows(record: Record) -> Iterator[tuple[str, str]]:
    yield "key", record.key
    yield "made", f"{record.made} in {record.seconds:g} s, at most {record.peak_bytes >> 20} MB"
    for name, tree in record.outputs.items():
        for path, (digest, size) in tree.files.items():
            yield f"output {name}", f"{path}  {size:,} bytes  sha256 {digest}"
    tools = record.parts["tool"]
    for what, identity in sorted(tools.items()) if isinstance(tools, Mapping) else ():
        yield "tool", f"{what} {identity}"
    for warning in record.warnings:
        yield "warning", warning


def _input(source: Input) -> str:
    match source:
        case OutputOf():
            return f"{source.output} of {source.action}"
        case SourceOnnx():
            return source.path
        case SourceFiles():
            return ", ".join(source.patterns)
        case _:
            return "the records of all that it stands on"
