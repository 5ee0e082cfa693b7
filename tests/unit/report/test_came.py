"""What came of the last build: of its actions, and of each cell."""

from __future__ import annotations

from qnnbuild.report import came as came_module
from qnnbuild.report.standing import LastRun, Ran
from qnnbuild.report.told import with_kept
from tests.reported import FLOATS, VAD, Told

CONTEXT = "context/vad/near/w8a8@SM8750"
BUNDLE = "bundle/vad/w8a8@SM8750"
CELL = "vad/w8a8@SM8750"


def told_of(*recipes: str, **how: str) -> Told:
    """`how` came of actions, one second each, one after the other."""
    told = Told.of(*recipes)
    actions = {
        name: Ran(how=one, began=float(at), ended=at + 1.0, seconds=0.75)
        for at, (name, one) in enumerate(how.items())
    }
    told.known.run = LastRun(
        began="2026-03-01T03:00:00+00:00", seconds=float(len(how)), actions=actions
    )
    return told


def test_nothing_is_told_before_anything_ran() -> None:
    assert Told.of(VAD).json()["run"] is None


def test_a_cell_is_as_its_bundle_came() -> None:
    run = told_of(VAD, **{CONTEXT: "made", BUNDLE: "made"}).json()["run"]

    assert run["came"] == {CELL: "made"}
    assert run["counts"] == {"made": 2}


def test_a_cell_is_cut_off_when_what_ran_for_it_made_the_same() -> None:
    run = told_of(VAD, **{CONTEXT: "cut off"}).json()["run"]

    assert run["came"] == {CELL: "cut off"}


def test_what_another_machine_made_was_fetched() -> None:
    run = told_of(VAD, **{BUNDLE: "fetched"}).json()["run"]

    assert run["came"] == {CELL: "fetched"}
    assert run["times"] == {}


def test_times_are_by_step_and_without_waiting() -> None:
    run = told_of(VAD, **{CONTEXT: "made", BUNDLE: "failed"}).json()["run"]

    assert run["times"] == {"context": 0.75, "bundle": 0.75}


def test_of_many_actions_the_longest_are_drawn(monkeypatch) -> None:
    monkeypatch.setattr(came_module, "MOST_RAN", 1)
    told = told_of(VAD, **{CONTEXT: "made", BUNDLE: "made"})
    assert told.known.run is not None
    ran = dict(told.known.run.actions)
    ran[BUNDLE] = Ran(how="made", began=1.0, ended=9.0, seconds=8.0)
    told.known.run = LastRun(began="2026-03-01T03:00:00+00:00", seconds=9.0, actions=ran)
    run = told.json()["run"]

    assert [one["action"] for one in run["ran"]] == [BUNDLE]
    assert run["left_out"] == 1


def test_actions_that_recipes_have_no_more_are_counted() -> None:
    run = told_of(VAD, **{"context/gone@SM8750": "made"}).json()["run"]

    assert (run["counts"], run["ran"], run["left_out"]) == ({"made": 1}, [], 1)


def test_what_a_build_made_of_models_that_are_not_looked_at_stays() -> None:
    both = told_of(VAD, FLOATS, **{BUNDLE: "made", "bundle/floats@SM8550": "made"})
    before = both.json()
    after = both.without("vad")
    told = with_kept(after.json(), before, frozenset(["vad"]))

    assert told["run"] == before["run"]
    assert after.json()["run"]["came"] == {"floats@SM8550": "made"}


def test_a_model_has_the_seconds_of_all_its_actions() -> None:
    (model,) = Told.of(VAD).json()["models"]

    assert model["times"]["bundle"] == 9.0
    assert model["times"]["fetch"] == 1.5
