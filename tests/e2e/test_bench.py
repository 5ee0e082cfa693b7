"""What a worker does for one build: a request that is stopped ends alone, and time that is over."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from uuid import uuid4

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.cluster.bench import Benches
from qnnbuild.cluster.message import CUT, UNBEGUN, Answer, Around, Request
from qnnbuild.cluster.ways import OneStore
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.watcher import Nobody
from tests.e2e.dask_cluster import KEY, doing, wait_for
from tests.e2e.processes import alive

pytestmark = pytest.mark.slow(seconds=10)


@dataclass
class Place:
    """A worker without Dask, and what the scheduler has taken back."""

    around: Around
    scratch: Path
    benches: Benches = field(default_factory=Benches)
    unwanted: set[str] = field(default_factory=set)
    answers: dict[str, Answer] = field(default_factory=dict)

    def ask(self, action: Action, name: str = "r") -> Answer:
        request = Request(around=self.around, action=action, key=KEY, tool={}, inputs={})
        with self.benches.at(
            self.around, name, worker="w1", scratch=self.scratch,
            unwanted=self.unwanted.__contains__, watcher=Nobody(),
        ) as answer:  # fmt: skip
            self.answers[name] = answer(request)
        return self.answers[name]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    store = OneStore(Store(tmp_path / "store", Stats()))
    benches = Benches()
    around = Around(build=uuid4().hex, code=benches.code, top=str(tmp_path), way=store.way)
    opened = Place(around=around, scratch=tmp_path, benches=benches)
    yield opened
    benches.leave(around.build)
    store.close()


def pids_in(file: Path) -> list[int]:
    wait_for(lambda: file.exists() and len(file.read_text().split()) == 2)
    return [int(pid) for pid in file.read_text().split()]


def test_a_request_that_is_taken_back_ends_alone(place: Place, tmp_path: Path) -> None:
    threads, pids = [], {}
    for name in ("one", "other"):
        action = doing("hangs_with_a_child", params={"pids": str(tmp_path / name)})
        threads.append(threading.Thread(target=place.ask, args=(action, name)))
        threads[-1].start()
        pids[name] = pids_in(tmp_path / name)
    place.unwanted.add("one")
    threads[0].join(60)
    still = [Path(f"/proc/{pid}").exists() for pid in pids["other"]]  # `alive` waits for an end
    place.benches.leave(place.around.build)
    threads[1].join(60)

    assert place.answers == {name: Answer(worker="w1", stopped=True) for name in pids}
    assert still == [True, True]
    assert not any(alive(pid) for pid in pids["one"])


def test_nothing_begins_after_the_builds_deadline(place: Place) -> None:
    place.around = replace(place.around, starts_by=time.time() - 1, grace_s=600)

    assert place.ask(doing("well")) == Answer(worker="w1", late=UNBEGUN)


def test_what_runs_is_cut_at_the_end_of_the_grace(place: Place, tmp_path: Path) -> None:
    place.around = replace(place.around, starts_by=time.time() + 3, grace_s=1)
    hangs = doing("hangs_with_a_child", params={"pids": str(tmp_path / "pids")})

    assert place.ask(hangs) == Answer(worker="w1", late=CUT)
    assert not any(alive(pid) for pid in pids_in(tmp_path / "pids"))


def test_a_module_of_the_repo_does_not_stand_before_others(place: Place, tmp_path: Path) -> None:
    (tmp_path / "shlex.py").write_text("raise SystemExit('of the repo')")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/__init__.py").write_text("raise SystemExit('of the repo')")
    answer = place.ask(doing("well"))

    assert answer.error is None
    assert answer.made is not None
