"""What runs in a worker process of Dask: `run` as one of its tasks, the others beside them."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qnnbuild.cluster.arrivals import sees
from qnnbuild.cluster.begins import Teller
from qnnbuild.cluster.bench import Benches
from qnnbuild.cluster.message import Answer, Around, Request
from qnnbuild.errors import QnnbuildError

if TYPE_CHECKING:
    from distributed import Worker

BENCHES = Benches()


def run(text: str) -> str:
    """Do a `Request` and give its `Answer`. Whatever goes wrong in an action is an answer, too."""
    from distributed import get_worker

    worker = get_worker()
    name = str(worker.get_current_task())
    request = Request.from_text(text)
    unwanted = partial(is_unwanted, worker)
    scratch = Path(worker.local_directory)
    who = str(worker.name)
    watcher = Teller(worker, request.around.build)
    try:
        with BENCHES.at(
            request.around, name, worker=who, scratch=scratch, unwanted=unwanted, watcher=watcher
        ) as answer:
            return answer(request).to_text()
    except QnnbuildError as error:
        return Answer(worker=who, error=error).to_text()


def is_unwanted(worker: Worker, name: str) -> bool:
    """Whether the scheduler has taken a request back: its build was stopped, or is gone.

    Dask's worker keeps a request that it cannot end under the state "cancelled".
    """
    state = worker.state.tasks.get(name)
    return state is None or state.state == "cancelled"


def look(text: str) -> str:
    """What a build asks of each worker before anything is run: its code, and what it sees."""
    around = Around.from_json(json.loads(text))
    told: dict[str, Any] = {"code": BENCHES.code, "sees": sees(around.way)}
    return json.dumps(told)


def leave(build: str) -> None:
    """The build has ended."""
    BENCHES.leave(build)
