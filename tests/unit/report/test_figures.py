"""The report's pictures as data."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.report import figure as figure_module
from qnnbuild.report.figure import BAD, GOOD, Figure
from qnnbuild.report.figures import figures
from qnnbuild.report.figures_build import lanes_of
from qnnbuild.report.standing import LastRun, Ran
from tests.reported import AUTO, FLOATS, LAYERS, VAD, Told


def drawn(*recipes: str) -> dict[str, Figure]:
    return {figure.id: figure for figure in figures(Told.of(*recipes).json())}


def test_accuracy_has_one_point_for_each_binary_that_was_run() -> None:
    traces: Any = drawn(VAD.replace("SM8550, SM8750", "SM8550, QCS8550"))["accuracy"].traces

    assert [(trace["name"], trace["y"]) for trace in traces] == [
        ("w8a16", [31.5, 31.5]), ("w8a8", [31.5, 31.5]),
    ]  # fmt: skip
    assert traces[0]["text"] == ["vad/w8a16 near on SM7325", "vad/w8a16 near on SM8550"]


def test_layers_are_bars_the_worst_first_and_the_lifted_ones_apart() -> None:
    figure: Any = drawn(AUTO)["layers-1"]
    bars = {trace["name"]: (trace["y"], trace["x"]) for trace in figure.traces}

    assert figure.layout["yaxis"]["categoryarray"] == [one["layer"] for one in LAYERS]
    assert bars == {
        "stays in 8 bits": (["tanh"], [41.0]), "lifted to 16 bits": (["add"], [3.2]),
    }  # fmt: skip
    assert "The worst of 2 layers is add (3.2 dB); lifted to 16 bits: add." in figure.about


def test_tries_stand_in_their_order_with_the_bar() -> None:
    figure: Any = drawn(AUTO)["tries-1"]
    cpu, emulator = figure.traces

    assert (cpu["x"], cpu["y"]) == (["w8a8", "w8a8, 1 lifted"], [3.1, 28.0])
    assert cpu["marker"]["color"] == [BAD, GOOD]
    assert (emulator["name"], emulator["y"]) == ("HTP emulator", [27.5])
    assert figure.layout["shapes"][0]["y0"] == 25.0


def test_a_graph_without_a_search_has_no_picture_of_one() -> None:
    assert list(drawn(FLOATS)) == ["sizes", "compile-times", "accuracy"]


def test_every_picture_says_in_words_what_it_shows() -> None:
    told = drawn(VAD, AUTO)

    assert all(figure.about.endswith(".") for figure in told.values())
    assert "w8a8: 4 binaries, 31.5 dB" in told["accuracy"].about


def test_sizes_and_times_are_by_chip_in_the_order_of_the_matrix() -> None:
    told = drawn(VAD)
    sizes: Any = told["sizes"]

    assert sizes.layout["xaxis"]["categoryarray"] == ["SM7325", "SM8550", "SM8750"]
    assert [(trace["name"], trace["text"]) for trace in sizes.traces] == [
        (chip, ["vad/w8a8", "vad/w8a16"]) for chip in ("SM7325", "SM8550", "SM8750")
    ]
    assert "6 cells on 3 chips, from 1 kB to 1 kB" in sizes.about
    assert "from 1.5 s to 1.5 s" in told["compile-times"].about


def test_many_points_become_boxes_of_quartiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(figure_module, "MOST_POINTS", 1)
    (trace,) = drawn(VAD)["accuracy"].traces

    assert (trace["x"], trace["median"]) == (["w8a16", "w8a8"], [31.5, 31.5])
    assert "y" not in trace


def ran(how: str, began: float, ended: float, seconds: float, worker: str = "") -> Ran:
    return Ran(how=how, began=began, ended=ended, seconds=seconds, worker=worker)


def of_run(**actions: Ran) -> dict[str, Any]:
    told = Told.of(VAD)
    took = max(one.ended for one in actions.values())
    told.known.run = LastRun(began="2026-03-01T03:00:00+00:00", seconds=took, actions=actions)
    return {figure.id: figure for figure in figures(told.json())}


def test_a_run_has_a_bar_for_each_action_and_a_faint_one_where_it_waited() -> None:
    one, other = "context/vad/near/w8a8@SM8750", "context/vad/near/w8a8@SM8550"
    figure = of_run(**{one: ran("made", 0, 60, 60), other: ran("failed", 0, 100, 30)})["timeline"]
    waits, bars = figure.traces

    assert (waits["y"], waits["base"], waits["x"]) == (["lane 1"], [0.0], [70.0])
    assert (bars["name"], bars["y"]) == ("context", ["lane 2", "lane 1"])
    assert (bars["base"], bars["x"]) == ([0.0, 70.0], [60.0, 30.0])
    assert bars["marker"]["color"] == ["@series-1", BAD]
    assert "took 1 min 40 s, 1 min 30 s of work on 2 lanes, 45% of them busy" in figure.about
    assert figure.about.endswith(f"longest was {one} (1 min 0 s).")


def test_lanes_are_as_many_as_ran_at_once_on_each_worker() -> None:
    spans = [("a", 0, 2, ""), ("b", 1, 3, ""), ("c", 2, 4, ""), ("d", 0, 9, "pc")]
    told = [
        {"action": name, "began": began, "ended": ended, "worker": worker}
        for name, began, ended, worker in spans
    ]

    assert lanes_of(told) == {"a": "lane 1", "b": "lane 2", "c": "lane 1", "d": "pc 1"}


def test_what_did_not_have_to_run_is_told_by_step() -> None:
    figure = of_run(**{"context/vad/near/w8a8@SM8750": ran("made", 0, 1.5, 1.5)})["saved"]
    spent, saved = figure.traces
    at = spent["y"].index("context")

    assert (spent["x"][at], saved["x"][at]) == (1.5, 7.5)
    assert figure.about.startswith("Seconds of work by step: 1.5 s ran in the last build, ")


def test_a_build_that_took_all_out_of_a_cache_has_no_timeline() -> None:
    told = of_run(**{"context/vad/near/w8a8@SM8750": ran("fetched", 0, 1, 0)})

    assert "timeline" not in told
    assert "saved" in told


def test_a_build_that_made_all_of_it_saved_nothing() -> None:
    plan = Told.of(VAD).subject.plan
    told = of_run(**{action.name: ran("made", 0, 1.5, 1.499) for action in plan})

    assert "saved" not in told
