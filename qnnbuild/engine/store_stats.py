"""What a store holds: counts and bytes."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest
from qnnbuild.engine.garbage import artifacts, size_of
from qnnbuild.engine.leases import living
from qnnbuild.engine.records import Records
from qnnbuild.engine.store import Store


@dataclass(kw_only=True)
class Step:
    records: int = 0
    total_bytes: int = 0  # an artifact that several records of a step have counts once


@dataclass(frozen=True, kw_only=True)
class Checkout:
    root: str  # "" of one that was not built since its folder is noted
    names: int
    there: bool


@dataclass(kw_only=True)
class Held:
    steps: dict[str, Step] = field(default_factory=dict)
    records: int = 0
    artifacts: int = 0
    artifact_bytes: int = 0
    loose: int = 0  # artifacts that no record names
    loose_bytes: int = 0
    logs: int = 0
    log_bytes: int = 0
    environments: int = 0
    environment_bytes: int = 0
    database_bytes: int = 0
    checkouts: list[Checkout] = field(default_factory=list)
    builds: int = 0  # that run now


def held(store: Store, records: Records) -> Held:
    told = Held(builds=len(living(store.root)))
    named: set[Digest] = set()
    by_step: dict[str, dict[Digest, int]] = {}
    for _, _, text, _ in records.rows():
        told.records += 1
        try:
            record = Record.from_json(text)
        except ValueError:  # `verify` tells of it
            continue
        told.steps.setdefault(record.step, Step()).records += 1
        for tree in record.outputs.values():
            named.update(digest for digest, _ in tree.files.values())
            by_step.setdefault(record.step, {}).update(tree.files.values())
    for step, files in by_step.items():
        told.steps[step].total_bytes = sum(files.values())
    _count_files(store, named, told)
    lasts, known = records.lasts(), records.checkouts()
    for checkout in sorted(lasts.keys() | known.keys()):
        root = known.get(checkout, ("", 0))[0]
        names = len(lasts.get(checkout, {}))
        told.checkouts.append(Checkout(root=root, names=names, there=os.path.isdir(root)))
    return told


def _count_files(store: Store, named: set[Digest], told: Held) -> None:
    for path in artifacts(store):
        size = path.lstat().st_size
        told.artifacts += 1
        told.artifact_bytes += size
        if path.name not in named:
            told.loose += 1
            told.loose_bytes += size
    for path in (store.root / "logs").glob("*/*"):
        told.logs += 1
        told.log_bytes += path.lstat().st_size
    for folder in (store.root / "envs").glob("*"):
        told.environments += 1
        told.environment_bytes += size_of(folder)
    for path in store.root.glob("records.db*"):
        told.database_bytes += path.stat().st_size
