"""The runner of this machine, with the limits that settings and environment ask for."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.engine.appetite import Appetite
from qnnbuild.engine.build_time import BuildTime
from qnnbuild.engine.records import Records
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.store import Store
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.workers import Workers
from qnnbuild.model.limits import Limits, with_environment


def limited_runner(
    settings: Limits,
    store: Store,
    records: Records,
    outside: Mapping[str, str],
    workers: Workers,
) -> Runner:
    """Looks at nothing yet. Raises RecipeError when `outside` says what cannot be meant."""
    limits = with_environment(settings, outside)
    turns = Turns(
        limits,
        appetite=Appetite(records),
        build_time=BuildTime(limits.deadline_s, limits.grace_s),
        server=lambda: workers.pid,
        tell=tell,
    )
    return Runner(store, workers, outside, turns)
