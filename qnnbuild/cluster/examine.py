"""What `qnnbuild doctor` looks at of a cluster: scheduler, workers, versions, the way of files."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from uuid import uuid4

from qnnbuild.cluster.agreement import agreed
from qnnbuild.cluster.message import Around
from qnnbuild.cluster.opening import allowed
from qnnbuild.cluster.placement import threads_of
from qnnbuild.cluster.scheduler import Scheduler
from qnnbuild.cluster.ways import OneStore
from qnnbuild.cluster.work_code import code_of
from qnnbuild.cluster.worker import look
from qnnbuild.engine.finding import Finding, tried
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.records import Records
from qnnbuild.engine.sharing import remote_store
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.trust import trust_of
from qnnbuild.errors import QnnbuildError
from qnnbuild.model.cluster import Cluster
from qnnbuild.model.settings import Settings


def examine_cluster(
    settings: Settings, environment: Mapping[str, str], root: Path, store: Path
) -> Iterator[Finding]:
    """Nothing where actions run on this machine."""
    cluster = allowed(settings.executor, environment, trust_of(environment))
    if cluster is None:
        return
    try:
        scheduler = Scheduler.connect(cluster)
    except QnnbuildError as error:
        yield _bad("executor", error)
        return
    try:
        yield _workers(cluster, scheduler)
        if scheduler.seats():
            yield _way(settings, environment, scheduler, root, store)
    finally:
        scheduler.close()


def _workers(cluster: Cluster, scheduler: Scheduler) -> Finding:
    seats = scheduler.seats()
    versions = ", ".join(scheduler.versions())
    return tried(
        what="executor",
        good=bool(seats),
        found=f"{cluster.url}: {len(seats)} workers, {threads_of(seats)} threads, Dask {versions}",
        mend=f"dask worker {scheduler.told_as} --nthreads 1",
    )


def _way(
    settings: Settings, environment: Mapping[str, str], scheduler: Scheduler, root: Path, at: Path
) -> Finding:
    """The same questions to each worker that a build asks before it runs anything."""
    stats = Stats()
    store = Store(at, stats)
    records = Records(Path(":memory:"), "doctor")
    trust, cache = trust_of(environment), settings.remote_cache
    remote = remote_store(cache, environment, store, records, trust, root=root)
    one_store = OneStore(store)
    around = Around(
        build=uuid4().hex, code=code_of(Identity(stats)), top=str(root), way=one_store.way
    )
    try:
        told = scheduler.ask_all(look, json.dumps(around.to_json()))
        way = agreed(around, told, one_store, remote, scheduler).way
    except QnnbuildError as error:
        return _bad("executor's files", error)
    finally:
        one_store.close()
        remote.close()
        records.close()
    how = f"all workers see {way.store}" if way.kind == "store" else f"over {way.cache['url']}"
    return Finding(what="executor's files", good=True, found=how)


def _bad(what: str, error: QnnbuildError) -> Finding:
    problem = error.problems[0]
    facts = "; ".join(f"{name}: {text}" for name, text in problem.facts)
    return Finding(what=what, good=False, found=f"{problem.message} ({facts})", mend=problem.hint)
