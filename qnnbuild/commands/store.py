"""qnnbuild store: what it holds, whether it is whole, what can go; parts of it as a file."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.actions.record import Record
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.garbage import Collected, Rules, collect
from qnnbuild.engine.leases import checkout_of
from qnnbuild.engine.places import RECORDS
from qnnbuild.engine.records import Records
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.state import Current
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.store_check import Checked, check
from qnnbuild.engine.store_pack import pack, unpack
from qnnbuild.engine.store_stats import Held, held
from qnnbuild.errors import NothingMatches, QnnbuildError, RecipeError, StoreError
from qnnbuild.repo import find_root, store_folder
from qnnbuild.session import Session, open_builder, open_session
from qnnbuild.text.amounts import SIZE_HINT, size_of, told_size

SHOWN = 20

NO_CACHE = "remote_cache: {url: …, mode: read-write} in qnnbuild.yaml, or QNNBUILD_REMOTE_CACHE"
READS = "mode: read-write in qnnbuild.yaml, or QNNBUILD_REMOTE_CACHE_MODE=read-write"


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
    push = parts.add_parser(
        "push", help="share what was built before with the remote cache: a part, or everything"
    )
    push.set_defaults(part=_push)
    push.add_argument("pattern", nargs="*", help="names, models, patterns; usually everything")
    for one in (stats, verify, gc, export, take, push):
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
    records = Records(folder / RECORDS, checkout_of(root), tell)
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
    rows = [(name, f"{step.records:,}", told_size(step.total_bytes)) for name, step in steps]
    print_rows(rows, head=("step", "records", "artifacts"))
    print()
    rows = [
        ("artifacts", f"{told.artifacts:,}", told_size(told.artifact_bytes)),
        ("  not of a record", f"{told.loose:,}", told_size(told.loose_bytes)),
        ("logs", f"{told.logs:,}", told_size(told.log_bytes)),
        ("environments", f"{told.environments:,}", told_size(told.environment_bytes)),
        ("records", f"{told.records:,}", told_size(told.database_bytes)),
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
    for line in told.mended:
        print(f"mended: {line}")
    for line in told.damaged:
        print(f"dropped: {line}")
    if told.incomplete:
        some = ", ".join(sorted(set(told.incomplete))[:SHOWN])
        print(f"{len(told.incomplete)} records lack an artifact and will be made again: {some}")
    whole = (
        f"{told.artifacts:,} artifacts ({told_size(told.read_bytes)}) and {told.records:,} records"
    )
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
    kept = f"{told.kept_records:,} records with {told_size(told.kept_bytes)} stay"
    print(f"{told_size(told.freed_bytes)} {verb}; {kept}", file=sys.stderr)
    if told.reachable_dropped:
        print(f"{told.reachable_dropped} of the records that went are needed by the next build, "
              "which makes them again", file=sys.stderr)  # fmt: skip
    if told.over_bytes:
        print(f"{told_size(told.over_bytes)} more than --max-size: builds that run now hold it",
              file=sys.stderr)  # fmt: skip


def _export(args: Namespace) -> int:
    session = open_session()
    part = _part(session, args.pattern)
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
                 f"({told_size(told.total_bytes)}) are in {args.file}")  # fmt: skip
    return 0


def _part(session: Session, patterns: Sequence[str]) -> list[Action]:
    """What these name, and all that it stands on; everything when they name nothing."""
    found = (name for p in patterns or ["*"] for name in session.plan.matching(p))
    return [*session.plan.upto(dict.fromkeys(found))]


def _push(args: Namespace) -> int:
    session = open_session()
    part = _part(session, args.pattern)
    with open_builder(session) as builder:
        settings = builder.remote.settings
        if settings is None:
            raise RecipeError("there is no remote cache to share with", hint=NO_CACHE)
        if not settings.writes:
            raise RecipeError(f"the remote cache {settings.url} is only read", hint=READS)
        states = [builder.state(action.name) for action in part]
        built = [state.record for state in states if isinstance(state, Current)]
        here = [record for record in built if not _is_elsewhere(builder, record)]
        told = builder.remote.push(here)
    left = len(here) - told.records
    data = {**asdict(told), "not_built": len(part) - len(built), "left": left}
    size = told_size(told.total_bytes)
    records = f"{told.records:,} of {len(here):,} records" if left else f"{told.records:,} records"
    text = f"shared {records}; {told.files:,} files ({size}) were not there yet"
    missing = (
        f"; {len(part) - len(built):,} actions are not built" if len(part) > len(built) else ""
    )
    _tell_packed(args, data, text + missing)
    return StoreError.exit_code if left else 0


def _is_elsewhere(builder: Builder, record: Record) -> bool:
    """Whether it came from the remote cache, which still holds what was never needed here."""
    files = (file for tree in record.outputs.values() for file in tree.files.values())
    return any(not builder.store.whole(digest, size) for digest, size in files)


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
    records = Records(folder / RECORDS, checkout_of(root), tell)
    try:
        told = unpack(store, records, args.file)
    finally:
        records.close()
    _tell_packed(args, asdict(told), f"took in {told.records:,} records with {told.artifacts:,} "
                 f"artifacts ({told_size(told.total_bytes)}), {told.known:,} known")  # fmt: skip
    return 0


def _tell_packed(args: Namespace, data: dict[str, int], text: str) -> None:
    if args.json:
        print_json(data)
    else:
        print(text, file=sys.stderr)


def _bytes(text: str) -> int:
    try:
        return size_of(text)
    except ValueError as error:
        raise RecipeError(str(error), hint=SIZE_HINT) from error
