"""The report's pictures as data."""

from __future__ import annotations

from typing import Any

from qnnbuild.report.figures import BAD, GOOD, Figure, figures
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
    assert list(drawn(FLOATS)) == ["accuracy"]


def test_every_picture_says_in_words_what_it_shows() -> None:
    told = drawn(VAD, AUTO)

    assert all(figure.about.endswith(".") for figure in told.values())
    assert "w8a8: 4 binaries, 31.5 dB" in told["accuracy"].about
