"""What a build tells tools, by the schema that comes with the package."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.actions.record import Record, Tree
from qnnbuild.bridge.events import Events
from qnnbuild.bridge.foresee import foresee
from qnnbuild.engine.event_lines import EventLines
from qnnbuild.engine.outlook import Rest
from qnnbuild.engine.state import Current, How, Outcome, Stale, State, Waits
from qnnbuild.engine.status import Going, Status
from qnnbuild.errors import NotGood, RecipeError, Span
from tests.events import Event, events_in

KEY = "a" * 64
RECORD = Record(
    key=KEY,
    name="fetch/m",
    step="fetch",
    parts={},
    outputs={"onnx": Tree(files={"m.onnx": (KEY, 10)})},
    warnings=("old",),
    seconds=2.0,
    peak_bytes=7,
)
GOING = Going(name="fetch/m", worker=2, spent_s=1.23456, where="gpu-7", ran=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events"


@pytest.fixture
def events(path: Path) -> Events:
    return Events(EventLines(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)))


def only(path: Path) -> Event:
    (event,) = events_in(path)
    return {name: value for name, value in event.items() if name not in {"event", "n", "time"}}


class Planned:
    """A session of four actions in all states."""

    plan = Plan.of(
        Action(
            name=name,
            step=name,
            call="x:y",
            outputs=("o",),
            group="m",
            inputs={"i": OutputOf(action=need, output="o")} if need else {},
        )
        for name, need in (("a", ""), ("b", "a"), ("c", "b"), ("bad", ""))
    )

    def state(self, name: str) -> State:
        if name == "bad":
            raise RecipeError("no such file: bad.onnx")
        states: dict[str, State] = {
            "a": Current(record=RECORD),
            "b": Stale(reasons=("never built",), key=KEY),
            "c": Waits(on=("b",)),
        }
        return states[name]

    def seconds(self, names: object) -> dict[str, float]:
        return {"c": 3.0}


def test_the_plan_tells_what_is_not_current_and_why(events: Events, path: Path) -> None:
    foreseen = foresee(Planned(), Planned.plan.actions)  # type: ignore[arg-type]
    assert foreseen is not None
    events.planned(Planned.plan, foreseen, behind=9, workers=2)
    plan, *actions = events_in(path)

    assert (plan["looked_at"], plan["behind_gate"], plan["to_run"]) == (4, 9, 3)
    assert plan["rest"] == {"seconds": 3.0, "never": 2, "over": 0}
    assert [(e["action"], e["state"], e["why"], e["key"], e["expected_s"]) for e in actions] == [
        ("b", "stale", ["never built"], KEY, None),
        ("c", "waits", [], None, 3.0),
        ("bad", "stale", ["no such file: bad.onnx"], None, None),
    ]


def test_a_look_ahead_gives_up_when_the_build_is_over() -> None:
    assert foresee(Planned(), "abc", gives_up=lambda: True) is None  # type: ignore[arg-type]


def test_with_force_everything_is_ahead() -> None:
    foreseen = foresee(Planned(), "abc", force=True)  # type: ignore[arg-type]

    assert foreseen is not None
    assert list(foreseen.states) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("how", "seconds", "warnings"),
    [
        ("made", 2.5, ["old"]),
        ("cut off", 2.5, ["old"]),
        ("fetched", None, []),
        ("restored", None, []),
    ],
)
def test_what_came_of_an_action(
    events: Events, path: Path, how: How, seconds: float | None, warnings: list[str]
) -> None:
    outcome = Outcome(name="fetch/m", how=how, record=RECORD, seconds=2.5, saved_s=1.0)
    events.made(outcome, GOING, Path("/the/log"))

    ran = seconds is not None
    assert only(path) == {
        "action": "fetch/m",
        "how": how,
        "key": KEY,
        "worker": 2,
        "where": "gpu-7",
        "seconds": seconds,
        "saved_s": 1.0,
        "peak_bytes": 7 if ran else None,
        "bytes": 10,
        "warnings": warnings,
        "log": "/the/log" if ran else None,
    }


def test_a_failure_has_its_problems_and_the_way_to_repeat_it(events: Events, path: Path) -> None:
    error = NotGood("too far", at=Span(file="r.yaml", line=3, column=5), hint="mend it")
    events.failed("fetch/m", error, GOING, log=None, last_lines=["x"], again="doit fetch/m")

    told = only(path)
    assert told["problems"][0]["message"] == "too far"
    assert (told["exit_code"], told["seconds"], told["again"]) == (5, 1.235, "doit fetch/m")


def test_how_the_whole_stands_is_told_while_something_runs(events: Events, path: Path) -> None:
    status = Status(
        done=1, total=3, told="", seconds=9.0, going=(GOING,), then=(("b", ("fetch/m",)),),
        rest=Rest(seconds=4.0),
    )  # fmt: skip
    asked = threading.Event()
    idle = Status(done=3, total=3, told="", seconds=9.0, going=(), then=(), rest=None)
    moments = iter([status, idle])

    def ask() -> Status:
        now = next(moments, None)
        if now is None:
            asked.set()
            return idle
        return now

    events.watch(ask, every_s=0.0)
    asked.wait(60)
    events.quiet()
    told = only(path)

    assert (told["done"], told["total"], told["then"]) == (
        1,
        3,
        [{"action": "b", "after": ["fetch/m"]}],
    )
    assert told["going"][0]["where"] == "gpu-7"


@pytest.mark.parametrize(
    ("code", "stopped", "how"),
    [(0, False, "done"), (4, False, "failed"), (7, True, "stopped"), (130, False, "stopped")],
)
def test_the_end_tells_how_it_was(
    events: Events, path: Path, code: int, stopped: bool, how: str
) -> None:
    events.result = {"stopped": stopped, "counts": {"made": 2}, "seconds": 3.0, "saved_s": 0.0}
    events.ended(code)

    assert only(path) == {
        "how": how, "exit_code": code, "counts": {"made": 2}, "seconds": 3.0, "saved_s": 0.0,
        "problems": [],
    }  # fmt: skip


def test_a_build_that_was_refused_tells_why(events: Events, path: Path) -> None:
    events.refused = RecipeError("a list is no recipe").problems
    events.ended(2)

    told = only(path)
    assert [one["message"] for one in told["problems"]] == ["a list is no recipe"]
    assert (told["how"], told["counts"], told["seconds"]) == ("failed", {}, None)
