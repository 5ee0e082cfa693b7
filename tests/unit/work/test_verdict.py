"""What ships and what does not, by its numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work.run import WorkError
from qnnbuild.work.verdict import verdict
from tests.working import run_work


def told(sqnr_db: float, **more: Any) -> dict[str, Any]:
    return {
        "sqnr_db": sqnr_db,
        "max_abs": 0.5,
        "max_rel": 0.1,
        "cosine": 0.99,
        "peak": 5.0,
        "elements": 4,
        "differing": 4,
        **more,
    }


def output(sqnr_db: float) -> dict[str, Any]:
    worst = {"sample": "000001", **told(sqnr_db - 3)}
    return {"kind": "float", "all": told(sqnr_db), "worst": worst, "samples": {}}


def numbers(**outputs: float) -> dict[str, Any]:
    return {
        "graph": "vad",
        "chip": {"soc_model": 69, "soc_type": "SM8750", "arch": 79},
        "sdk_build": "v2.51.0.260929181845",
        "ran_on": {"host": "HTP emulator", "nodes": {"QNNExecutionProvider": 1}},
        "binary": {"vad_ctx_qnn.bin": "ab"},
        "samples": 2,
        "compared_with": "the original",
        "why_not": None,
        "outputs": {name: output(sqnr_db) for name, sqnr_db in outputs.items()},
    }


def judged(
    folder: Path,
    found: Mapping[str, Any],
    bars: Mapping[str, Any],
    values: Mapping[str, Mapping[str, float]] | None = None,
    metrics: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    (folder / "numbers").mkdir()
    (folder / "numbers" / "numbers.json").write_text(json.dumps(found))
    inputs = {"numbers": folder / "numbers"}
    for name, value in (values or {}).items():
        inputs[f"values-{name}"] = folder / f"values-{name}"
        inputs[f"values-{name}"].mkdir()
        (inputs[f"values-{name}"] / "values.json").write_text(json.dumps(value))
    params = {
        "graph": "vad",
        "chip": "SM8750",
        "debug": "verify/silero-vad/vad@SM8750",
        "bars": bars,
        "metrics": metrics or {},
    }
    run_work(verdict, folder / "run", params=params, inputs=inputs, outputs=("verdict",))
    made: dict[str, Any] = json.loads((folder / "run/out/verdict/verdict.json").read_text())
    return made


def test_a_verdict_has_its_bars_and_the_numbers_behind_them(tmp_path: Path) -> None:
    found = judged(tmp_path, numbers(p=44.8), {"min_sqnr_db": 30.0})

    assert found["judged"] is True
    assert found["bars"] == [
        {
            "what": "min_sqnr_db",
            "of": "p",
            "value": 44.8,
            "bar": 30.0,
            "holds": True,
            "against": "the original",
        }
    ]
    assert found["outputs"]["p"] == {**told(44.8), "kind": "float", "worst_sample": "000001"}
    assert found["samples"] == 2
    assert found["binary"] == {"vad_ctx_qnn.bin": "ab"}


def test_below_a_bar_every_number_is_told_the_bad_ones_first(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        judged(tmp_path, numbers(p=44.8, q=12.0), {"min_sqnr_db": 30.0})

    assert caught.value.message == (
        "'vad' on SM8750 is below its bar: q: SQNR 12.0 dB, at least 30 dB wanted"
    )
    assert caught.value.facts == (
        ("q", "SQNR 12.0 dB, at least 30 dB wanted: BELOW"),
        ("p", "SQNR 44.8 dB, at least 30 dB wanted: holds"),
        (
            "worst output",
            (
                "q, sample 000001: SQNR 9.0 dB, max abs error 0.5, 0.1 of the peak, "
                "cosine 0.99000, 4 values differ"
            ),
        ),
    )
    assert caught.value.place == "verify.min_sqnr_db"
    assert caught.value.exit_code == 5


def test_recorded_answers_are_held_to_the_same_bars(tmp_path: Path) -> None:
    found = {**numbers(p=44.8), "recorded": numbers(p=20.0)["outputs"]}

    with pytest.raises(WorkError) as caught:
        judged(tmp_path, found, {"min_sqnr_db": 30.0})

    assert caught.value.facts[0] == (
        "p",
        "SQNR 20.0 dB, at least 30 dB wanted, against the recorded answers: BELOW",
    )


def test_a_metric_can_fail_alone(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        judged(
            tmp_path,
            numbers(p=44.8),
            {},
            {"wer": {"wer": 0.25}},
            {"wer": {"at_least": None, "at_most": 0.1}},
        )

    assert caught.value.message == (
        "'vad' on SM8750 is below its bar: wer: 0.25, at most 0.1 wanted"
    )


def test_what_cannot_be_compared_is_not_judged(tmp_path: Path) -> None:
    found = judged(tmp_path, {**numbers(), "why_not": "random numbers"}, {"min_sqnr_db": 30.0})

    assert (found["judged"], found["why_not"], found["bars"]) == (False, "random numbers", [])


def test_the_worst_output_is_the_one_that_misses_its_own_bar_by_most(tmp_path: Path) -> None:
    bars = {"min_sqnr_db": 30.0, "outputs": {"p": {"max_abs_error": 0.02}, "q": {}}}
    with pytest.raises(WorkError) as caught:
        judged(tmp_path, numbers(r=20.0, p=44.8, q=5.0), bars)

    assert caught.value.message == (
        "'vad' on SM8750 is below its bar: p: max abs error 0.5, at most 0.02 wanted"
    )
    assert caught.value.facts == (
        ("p", "max abs error 0.5, at most 0.02 wanted: BELOW"),
        ("r", "SQNR 20.0 dB, at least 30 dB wanted: BELOW"),
        (
            "worst output",
            (
                "p, sample 000001: SQNR 41.8 dB, max abs error 0.5, 0.1 of the peak, "
                "cosine 0.99000, 4 values differ"
            ),
        ),
    )
    assert caught.value.place == "verify.outputs.p.max_abs_error"


def test_a_bar_that_the_graph_has_too_is_shown_at_the_graph(tmp_path: Path) -> None:
    bars = {"min_sqnr_db": 30.0, "outputs": {"p": {"min_sqnr_db": 30.0, "min_cosine": 0.9}}}
    with pytest.raises(WorkError) as caught:
        judged(tmp_path, numbers(p=20.0), bars)

    assert caught.value.place == "verify.min_sqnr_db"


def test_what_is_excused_is_told_with_its_reason(tmp_path: Path) -> None:
    bars = {"min_sqnr_db": 30.0, "outputs": {"n": {"excused": "a counter"}}}
    found = judged(tmp_path, numbers(p=44.8, n=-999.0), bars)

    assert found["excused"] == {"n": "a counter"}
    assert [bar["of"] for bar in found["bars"]] == ["p"]
    assert found["outputs"]["n"]["sqnr_db"] == -999.0


def test_a_graph_whose_outputs_are_all_excused_is_not_judged(tmp_path: Path) -> None:
    found = judged(tmp_path, numbers(n=1.0), {"outputs": {"n": {"excused": "a counter"}}})

    assert found["judged"] is False


def test_a_bar_for_an_output_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match="the graph has no output 'prop'"):
        judged(tmp_path, numbers(prob=44.8), {"outputs": {"prop": {"min_cosine": 0.9}}})


def test_the_worst_sample_is_the_one_that_misses_this_bar(tmp_path: Path) -> None:
    found = numbers(p=44.8)
    found["outputs"]["p"]["samples"] = {
        "000001": {"sqnr_db": 41.8, "max_abs": 0.1, "cosine": 0.99},
        "000002": {"sqnr_db": 60.0, "max_abs": 0.5, "cosine": 0.99},
    }
    found["outputs"]["p"]["worst"]["max_abs"] = 0.1
    with pytest.raises(WorkError) as caught:
        judged(tmp_path, found, {"max_abs_error": 0.2})

    assert caught.value.facts[-1] == (
        "worst output",
        "p, sample 000002: SQNR 60.0 dB, max abs error 0.5, cosine 0.99000",
    )
