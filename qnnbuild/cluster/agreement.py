"""What build and workers have to agree on before anything is run: code, and a way for files."""

from __future__ import annotations

import json
from collections.abc import Mapping

from qnnbuild.cluster.message import Around
from qnnbuild.cluster.scheduler import Scheduler
from qnnbuild.cluster.ways import Carrier, OneStore, ThroughCache
from qnnbuild.cluster.work_code import same_code, shown
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.errors import ToolError
from qnnbuild.model.remote_cache import URL

Told = Mapping[str, Exception | str]
"""A worker's address → what it answered to `worker.look`, or what was wrong with it."""


def agreed(
    around: Around, told: Told, store: OneStore, remote: RemoteStore, scheduler: Scheduler
) -> Carrier:
    """The store when all workers see it, else a remote cache that may be written to.

    Raises ToolError that names the workers with which nothing can be run.
    """
    names = {seat.address: str(seat) for seat in scheduler.seats()}
    answers = _answers(told, names)
    others = [name for name, answer in answers.items() if not same_code(answer[0], around.code)]
    if others:
        raise ToolError(
            "workers have other code of qnnbuild than the build",
            facts=[
                ("the build has", shown(around.code)),
                *((f"worker {name}", shown(answers[name][0])) for name in others),
            ],
            hint="install the same qnnbuild on both, and start the workers again",
        )
    blind = [name for name, (_, sees) in answers.items() if not sees]
    if not blind:
        return store
    store.close()
    if remote.settings is not None and remote.opened is not None and remote.settings.writes:
        return ThroughCache(remote, remote.settings, remote.opened)
    raise _no_way(blind, store, remote)


def _answers(told: Told, names: Mapping[str, str]) -> dict[str, tuple[str, bool]]:
    """A worker's name → its code, and whether it sees the store."""
    found = {}
    for address, answer in told.items():
        name = names.get(address, address)
        if isinstance(answer, Exception):
            raise ToolError(
                f"a worker has no qnnbuild that answers: {answer}",
                facts=[("worker", name)],
                hint="pip install 'qnnbuild[cluster]' where the workers are started, and start "
                "them again",
            )
        data = json.loads(answer)
        found[name] = (str(data["code"]), bool(data["sees"]))
    return found


def _no_way(blind: list[str], store: OneStore, remote: RemoteStore) -> ToolError:
    mode = "none" if remote.settings is None else f"{remote.settings.url}, to read only"
    return ToolError(
        "files cannot travel between this machine and the workers",
        facts=[
            ("store", f"{store.way.store} is not seen, or may not be written to, by"),
            *(("worker", name) for name in blind),
            ("remote cache", mode),
        ],
        hint="let all machines see the store's folder (QNNBUILD_STORE), or give a remote cache "
        f"with mode: read-write ({URL})",
    )
