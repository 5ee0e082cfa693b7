"""qnnbuild store: what it holds, whether it is whole, what can go; parts of it as a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from qnnbuild.actions.record import Record
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.garbage import Collected, Rules, collect
from qnnbuild.engine.records import Records
from qnnbuild.engine.state import Current
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.store_check import Checked, check
from qnnbuild.engine.store_pack import pack, unpack
from qnnbuild.engine.store_stats import Held, held
from qnnbuild.errors import NothingMatches, QnnbuildError, RecipeError, StoreError
from qnnbuild.session import (
    RECORDS,
    checkout_of,
    find_root,
    open_builder,
    open_session,
    store_folder,
)

SIZES = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
SHOWN = 20


def arguments(parser: ArgumentParser) -> None:
    parts = parser.add_subparsers(metavar="WHAT", required=True)
    stats = parts.add_parser("stats", help="how much there is, and of what")
    stats.set_defaults(part=_stats)
    verify = parts.add_parser("verify", help="read all of it again; drop what is damaged")
    verify.set_defaults(part=_verify)
    gc = parts.add_parser(
        "gc", help="remove what no checkout's recipes need; safe while builds run"
    )
    gc.set_defaults(part=_gc)
    gc.add_argument(
        "--keep-days",
        type=float,
        default=14.0,
        metavar="N",
        help="what is not reachable stays so long after its last use; 14",
    )
    gc.add_argument(
        "--max-size",
        metavar="SIZE",
        help="of all artifacts, like 20G: the longest unused go, what is reachable last",
    )
    gc.add_argument("--dry-run", action="store_true", help="say what would go")
    export = parts.add_parser(
        "export", help="records and artifacts of a part of the plan, as one file"
    )
    export.set_defaults(part=_export)
    export.add_argument("file", type=Path, help="a tar archive; .gz, .xz, .bz2 are compressed")
    export.add_argument("pattern", nargs="*", help="names, models, patterns; usually everything")
    take = parts.add_parser("import", help="take such a file in; every byte of it is checked")
    take.set_defaults(part=_import)
    take.add_argument("file", type=Path)
    for one in (stats, verify, gc, export, take):
        one.add_argument("--json", action="store_true", help="the same as data")


def run(args: Namespace) -> int:
    code: int = args.part(args)
    return code


@contextmanager
def _opened() -> Iterator[tuple[Store, Records]]:
    root = find_root()
    folder = store_folder(root)
    if not (folder / RECORDS).exists():
        raise NothingMatches(
            "there is no store yet", facts=[("looked for", str(folder))], hint="doit builds one"
        )
    records = Records(folder / RECORDS, checkout_of(root))
    try:
        yield Store(folder, Stats()), records
    finally:
        records.close()


def _stats(args: Namespace) -> int:
    with _opened() as (store, records):
        told = held(store, records)
    if args.json:
        print_json(asdict(told))
        return 0
    _print_stats(told)
    return 0


def _print_stats(told: Held) -> None:
    steps = sorted(told.steps.items(), key=lambda one: -one[1].total_bytes)
    rows = [(name, f"{step.records:,}", _size(step.total_bytes)) for name, step in steps]
    print_rows(rows, head=("step", "records", "artifacts"))
    print()
    rows = [
        ("artifacts", f"{told.artifacts:,}", _size(told.artifact_bytes)),
        ("  not of a record", f"{told.loose:,}", _size(told.loose_bytes)),
        ("logs", f"{told.logs:,}", _size(told.log_bytes)),
        ("environments", f"{told.environments:,}", _size(told.environment_bytes)),
        ("records", f"{told.records:,}", _size(told.database_bytes)),
    ]
    print_rows(rows)
    print()
    places = [
        (one.root or "(unknown)", f"{one.names:,} names", "" if one.there else "is gone")
        for one in told.checkouts
    ]
    print_rows(places, head=("checkout", "knows", ""))
    if told.builds:
        print(f"{told.builds} builds run now", file=sys.stderr)


def _verify(args: Namespace) -> int:
    with _opened() as (store, records):
        told = check(store, records)
    if args.json:
        print_json(asdict(told))
    else:
        _print_check(told)
    bad = told.damaged or told.database
    return StoreError.exit_code if bad else 0


def _print_check(told: Checked) -> None:
    for line in told.database:
        print(f"records.db: {line}")
    for line in told.damaged:
        print(f"dropped: {line}")
    if told.incomplete:
        some = ", ".join(sorted(set(told.incomplete))[:SHOWN])
        print(f"{len(told.incomplete)} records lack an artifact and will be made again: {some}")
    whole = f"{told.artifacts:,} artifacts ({_size(told.read_bytes)}) and {told.records:,} records"
    bad = len(told.damaged) + len(told.database)
    say = f"{whole} are whole" + (f"; {bad} were not: doit makes them again" if bad else "")
    print(say, file=sys.stderr)


def _gc(args: Namespace) -> int:
    if args.keep_days < 0:
        raise RecipeError("--keep-days is not below 0", hint="--keep-days 0 keeps nothing older")
    rules = Rules(
        keep_days=args.keep_days,
        max_bytes=None if args.max_size is None else _bytes(args.max_size),
        names=_planned(),
        dry_run=args.dry_run,
    )
    with _opened() as (store, records):
        if not args.dry_run:
            store.sweep()
        told = collect(store, records, rules)
    if args.json:
        print_json(asdict(told))
    else:
        _print_collected(told, would=args.dry_run)
    return 0


def _planned() -> frozenset[str] | None:
    """What the recipes here want. Recipes with mistakes want all that they ever had."""
    try:
        session = open_session()
    except QnnbuildError as error:
        print(f"warning: all that was built here counts as wanted: {error.problems[0].message}",
              file=sys.stderr)  # fmt: skip
        return None
    return frozenset(action.name for action in session.plan)


def _print_collected(told: Collected, *, would: bool) -> None:
    rows = [
        ("records", f"{told.records:,}"),
        ("artifacts", f"{told.artifacts:,}"),
        ("logs", f"{told.logs:,}"),
        ("environments", f"{told.environments:,}"),
        ("checkouts that are gone", f"{told.checkouts:,}"),
    ]
    print_rows([row for row in rows if row[1] != "0"])
    verb = "would be freed" if would else "freed"
    kept = f"{told.kept_records:,} records with {_size(told.kept_bytes)} stay"
    print(f"{_size(told.freed_bytes)} {verb}; {kept}", file=sys.stderr)
    if told.reachable_dropped:
        print(f"{told.reachable_dropped} of the records that went are needed by the next build, "
              "which makes them again", file=sys.stderr)  # fmt: skip
    if told.over_bytes:
        print(f"{_size(told.over_bytes)} more than --max-size: builds that run now hold it",
              file=sys.stderr)  # fmt: skip


def _export(args: Namespace) -> int:
    session = open_session()
    patterns = args.pattern or ["*"]
    names = dict.fromkeys(name for p in patterns for name in session.plan.matching(p))
    part = session.plan.upto(names)
    with open_builder(session) as builder:
        found: list[Record] = []
        for action in part:
            state = builder.state(action.name)
            if not isinstance(state, Current):
                raise NothingMatches(
                    f"{action.name} is not built", hint=f"build it first: doit {action.name}"
                )
            found.append(state.record)
        _bring(builder, found)
        told = pack(builder.store, found, args.file)
    _tell_packed(args, asdict(told), f"{told.records:,} records with {told.artifacts:,} artifacts "
                 f"({_size(told.total_bytes)}) are in {args.file}")  # fmt: skip
    return 0


def _bring(builder: Builder, records: Iterable[Record]) -> None:
    """Have what a remote cache has only in the store, too."""
    for record in records:
        for tree in record.outputs.values():
            if not builder.remote.bring(tree.files.values()):
                hint = f"build it again: doit {record.name}"
                raise StoreError(f"what {record.name} made is nowhere any more", hint=hint)


def _import(args: Namespace) -> int:
    if not args.file.is_file():
        raise NothingMatches(f"no such file: {args.file}")
    root = find_root()
    folder = store_folder(root)
    store = Store(folder, Stats())
    records = Records(folder / RECORDS, checkout_of(root))
    try:
        told = unpack(store, records, args.file)
    finally:
        records.close()
    _tell_packed(args, asdict(told), f"took in {told.records:,} records with {told.artifacts:,} "
                 f"artifacts ({_size(told.total_bytes)}), {told.known:,} known")  # fmt: skip
    return 0


def _tell_packed(args: Namespace, data: dict[str, int], text: str) -> None:
    if args.json:
        print_json(data)
    else:
        print(text, file=sys.stderr)


def _bytes(text: str) -> int:
    number, unit = text.strip().upper().removesuffix("B").removesuffix("I"), ""
    if number[-1:] in SIZES and number[-1:]:
        number, unit = number[:-1], number[-1:]
    try:
        size = int(float(number) * SIZES[unit])
    except (ValueError, OverflowError):
        size = -1
    if size < 0:
        raise RecipeError(f"'{text}' is no size", hint="a number with K, M, G or T: 20G")
    return size


def _size(count: int) -> str:
    """With three digits: 1.25 GB."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count = count / 1000  # type: ignore[assignment]
    return f"{count:,.3g} GB"
