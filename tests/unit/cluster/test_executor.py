"""What the executor makes of requests that came to nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.cluster import executor as executors
from qnnbuild.cluster.executor import ASKS, ClusterExecutor, not_to_be_had
from qnnbuild.cluster.message import CUT, UNBEGUN, Answer, Request
from qnnbuild.engine.appetite import Appetite
from qnnbuild.engine.build_time import BuildTime, OutOfTime
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.runner import Made, Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import Problem, ToolError
from qnnbuild.model.cluster import Cluster
from tests.unit.cluster.test_message import ACTION, AROUND, TREE

KEY = "ef" * 32
MADE = Made(outputs={"o": TREE}, warnings=(), seconds=1.0, peak_bytes=1)
Facts = tuple[tuple[str, str], ...]
STOPPED = Answer(worker="w1", stopped=True)


class Here:
    """Workers that agree, a scheduler that is there, and a store that all see."""

    told_as = "tcp://s:1"
    is_there = True
    around = AROUND

    @property
    def scheduler(self) -> Here:
        return self

    @property
    def carrier(self) -> Here:
        return self

    def offer(self, _: object) -> None: ...

    def take(self, _: object) -> None: ...


class Answering(ClusterExecutor):
    """With answers that a test has, to requests that go nowhere."""

    answers: Iterator[Answer]

    def _opened(self) -> Any:
        return Here()

    def _ask(self, _: Any, request: Request) -> Answer:
        return next(self.answers)


class Never:
    """A request that nobody answers."""

    taken_back = False

    def is_done(self, _: float) -> bool:
        return False

    def take_back(self) -> None:
        self.taken_back = True


@pytest.fixture
def told() -> list[Problem]:
    return []


@pytest.fixture
def answering(tmp_path: Path, told: list[Problem]) -> Iterator[Answering]:
    store = Store(tmp_path, Stats())
    records = Records(Path(":memory:"), "here")
    build_time = BuildTime(100.0, 20.0, clock=lambda: 0.0)
    yield Answering(
        Cluster(url="dask://s:1"),
        runner=Runner(store, Workers(), {}, Turns(build_time=build_time)),
        identity=Identity(Stats()),
        appetite=Appetite(records),
        remote=RemoteStore(store, records),
        sdks={},
        top=tmp_path,
        tell=told.append,
    )
    records.close()


class Listening:
    """A watcher that remembers."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, ...]] = []

    def waits(self, name: str, what_for: str) -> None:
        self.heard.append((name, "waits", what_for))

    def runs(self, name: str, where: str = "") -> None:
        self.heard.append((name, "runs", where))


def run(executor: Answering, *answers: Answer) -> Made:
    executor.answers = iter(answers)
    return executor.run(replace(ACTION, inputs={}, tools=(), call=None), KEY, {})


def at(executor: Answering, seconds: float) -> None:
    executor.runner.turns.build_time.clock = lambda: seconds


def test_what_a_worker_stopped_by_itself_is_asked_for_again(answering: Answering) -> None:
    made = run(answering, STOPPED, STOPPED, Answer(worker="w2", made=MADE))

    assert made == replace(MADE, worker="w2")


def test_who_stops_it_always_is_named(answering: Answering) -> None:
    with pytest.raises(ToolError) as caught:
        run(answering, *[STOPPED] * ASKS)

    (problem,) = caught.value.problems
    assert problem.message == ("workers stopped verify/m@A 5 times, which nobody had asked for")
    assert problem.facts == (("scheduler", "tcp://s:1"), ("worker", "w1"))


@pytest.mark.parametrize(("late", "warnings"), [(UNBEGUN, 0), (CUT, 1)])
def test_a_deadline_that_is_over_for_a_worker_is_the_builds(
    answering: Answering, told: list[Problem], late: str, warnings: int
) -> None:
    at(answering, 121.0)
    with pytest.raises(OutOfTime):
        run(answering, Answer(worker="w1", late=late))

    assert len(told) == warnings


def test_a_worker_whose_clock_is_wrong_is_told(answering: Answering) -> None:
    with pytest.raises(ToolError) as caught:
        run(answering, Answer(worker="w1", late=UNBEGUN))

    (problem,) = caught.value.problems
    assert problem.message == "for worker w1 the build's deadline is over, by 100 s too early"


def test_nobody_is_waited_for_after_the_grace(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executors, "FAREWELL_S", 0.0)
    at(answering, 121.0)
    never, wants = Never(), dict[str, float]()
    with pytest.raises(OutOfTime):
        answering._await(Here(), never, "verify/m@A", wants)  # type: ignore[arg-type]

    assert never.taken_back


def test_inputs_that_no_worker_can_have_are_named() -> None:
    there = replace(TREE, files={"b.txt": ("cd" * 32, 7)})
    inputs: Mapping[str, Any] = {"x": TREE, "y": there}
    request = Request(around=AROUND, action=ACTION, key=KEY, tool={}, inputs=inputs)
    (problem,) = not_to_be_had(request, Answer(worker="w1", gone=("ab" * 32,))).problems

    assert problem.message == (
        "a worker cannot have what verify/m@A takes, though it was brought again"
    )
    assert problem.facts == (("worker", "w1"), ("input", "x: a/ü.txt (abababababab)"))


def test_which_worker_had_an_action_is_told_where_it_was_too_quick_to_be_heard(
    answering: Answering,
) -> None:
    answering.runner.turns.watcher = listening = Listening()
    run(answering, Answer(worker="w2", made=MADE))

    assert listening.heard == [("verify/m@A", "runs", "w2")]


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ((("file", "/gw1/m.onnx"),), (("file", "/gw1/m.onnx"), ("worker", "w1"))),
        ((("worker", "w1"),), (("worker", "w1"),)),
        ((("worker w1", "onnx 1.19"),), (("worker w1", "onnx 1.19"),)),
    ],
)
def test_a_workers_error_names_the_worker_once(
    answering: Answering, facts: Facts, said: Facts
) -> None:
    error = ToolError.of([Problem(message="no", facts=facts)])
    with pytest.raises(ToolError) as caught:
        run(answering, Answer(worker="w1", error=error))

    assert caught.value.problems[0].facts == said
