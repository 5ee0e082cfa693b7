"""What the original answers on the CPU, and how each output is to be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from qnnbuild.work.npz import read_npz, write_npz
from qnnbuild.work.reference import reference
from qnnbuild.work.run import Run, WorkError
from tests.graphs import model
from tests.libraries import model as with_own_operator
from tests.working import run_work, written

NEG = "g (float[1, 4] x) => (float[1, 4] y) { y = Neg (x) }"


def answered(
    made: ModelProto,
    folder: Path,
    samples: Sequence[Mapping[str, Any]],
    recorded: Sequence[Mapping[str, Any]] | None = None,
) -> Run:
    baseline = written(made, folder / "baseline")
    (baseline / "baseline.json").write_text('{"is": "the original"}')
    inputs = {"baseline": baseline}
    for name, all_ in (("samples", samples), ("recorded", recorded)):
        if all_ is not None:
            (folder / name).mkdir()
            for number, arrays in enumerate(all_):
                write_npz(folder / name / f"{number:06}.npz", arrays)
            inputs[name] = folder / name
    return run_work(reference, folder / "run", params={}, inputs=inputs, outputs=("reference",))


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        (folder / "run/out/reference/reference.json").read_text(encoding="utf-8")
    )
    return found


def test_each_sample_has_a_file_of_answers(tmp_path: Path) -> None:
    samples = [{"x": np.full((1, 4), value, np.float32)} for value in (1, 2)]
    answered(model(NEG), tmp_path, samples)
    second = read_npz(tmp_path / "run/out/reference/000001.npz")

    assert told(tmp_path) == {
        "compared_with": "the original",
        "outputs": {"y": {"kind": "float"}},
        "samples": 2,
        "why_not": None,
    }
    assert {name: array.tolist() for name, array in second.items()} == {"y": [[-2.0] * 4]}


def test_a_sample_takes_the_originals_types(tmp_path: Path) -> None:
    made = model("g (int64[2] i) => (int64[2] y) { y = Neg (i) }")
    answered(made, tmp_path, [{"i": np.array([1, 2], np.int32)}])

    assert told(tmp_path)["outputs"] == {"y": {"kind": "exact"}}
    assert read_npz(tmp_path / "run/out/reference/000000.npz")["y"].tolist() == [-1, -2]


def test_a_quantized_output_says_what_its_steps_mean(tmp_path: Path) -> None:
    made = model(
        "g (float[1, 4] x) => (uint8[1, 4] y) { y = QuantizeLinear (x, s, z) }",
        s=np.float32(0.5),
        z=np.uint8(128),
    )
    answered(made, tmp_path, [{"x": np.ones((1, 4), np.float32)}])

    assert told(tmp_path)["outputs"] == {
        "y": {"kind": "quantized", "scale": 0.5, "zero_point": 128}
    }


def test_random_operators_are_told(tmp_path: Path) -> None:
    made = model("g (float[1, 4] x) => (float[1, 4] y) { r = RandomNormalLike (x) y = Add (x, r) }")
    answered(made, tmp_path, [{"x": np.ones((1, 4), np.float32)}])

    assert told(tmp_path)["why_not"] == "it computes with random numbers (RandomNormalLike)"


def test_an_answer_that_is_not_finite_is_told(tmp_path: Path) -> None:
    run = answered(
        model("g (float[1, 4] x) => (float[1, 4] y) { y = Log (x) }"),
        tmp_path,
        [{"x": np.zeros((1, 4), np.float32)}],
    )

    assert [notice.message for notice in run.warnings] == [
        "sample 0: the original's output 'y' is not finite; only what is finite is compared"
    ]


def test_recorded_answers_that_are_far_off_are_told(tmp_path: Path) -> None:
    samples = [{"x": np.ones((1, 4), np.float32)}]
    run = answered(model(NEG), tmp_path, samples, [{"y": np.ones((1, 4), np.float32)}])

    assert told(tmp_path)["recorded"]["y"]["cosine"] == -1.0
    assert [notice.place for notice in run.warnings] == ["verify.reference"]
    assert run.warnings[0].message.startswith(
        "the recorded 'y' is far from what the ONNX file answers on the CPU (-6.0 dB)"
    )


def test_an_if_that_a_constant_decides_is_answered(tmp_path: Path) -> None:
    made = model(
        "g (float[1, 4] x) => (float[1, 4] y) {"
        " y = If (c) <then_branch = t () => (float[1, 4] p) { h = Abs (x) p = Neg (h) },"
        " else_branch = e () => (float[1, 4] q) { q = Abs (x) }> }",
        c=np.bool_(True),
    )
    answered(made, tmp_path, [{"x": np.ones((1, 4), np.float32)}])

    assert read_npz(tmp_path / "run/out/reference/000000.npz")["y"].tolist() == [[-1.0] * 4]


def test_a_model_that_the_cpu_cannot_run_is_an_error(tmp_path: Path) -> None:
    made = model("g (float[1, 4] x) => (float[1, 4] y) { y = Det (x) }")

    with pytest.raises(WorkError) as caught:
        answered(made, tmp_path, [{"x": np.ones((1, 4), np.float32)}])

    assert caught.value.message == "ONNX Runtime cannot run the original model on the CPU"


def test_what_the_cpu_does_not_know_is_held_against_recorded_answers(tmp_path: Path) -> None:
    own = with_own_operator()
    arrays = {name: np.ones((1, 8), np.float32) for name in "ab"}
    answered(own, tmp_path, [arrays], [{"d": np.full((1, 8), 0.5, np.float32)}])

    assert told(tmp_path) == {
        "compared_with": "recorded answers",
        "outputs": {"d": {"kind": "float"}},
        "samples": 1,
        "why_not": None,
    }


@pytest.mark.parametrize(
    ("recorded", "compared_with", "why_not"),
    [(False, None, "no reference"), (True, "recorded answers", None)],
)
def test_without_an_original_only_recorded_answers_can_be_compared(
    recorded: bool, compared_with: str | None, why_not: str | None, tmp_path: Path
) -> None:
    kinds = {"y": {"kind": "float"}}
    baseline = {"is": None, "why_not": "no reference", "outputs": kinds}
    inputs = {name: tmp_path / name for name in ("baseline", "samples")}
    inputs |= {"recorded": tmp_path / "samples"} if recorded else {}
    for folder in inputs.values():
        folder.mkdir(exist_ok=True)
    (tmp_path / "baseline/baseline.json").write_text(json.dumps(baseline))
    write_npz(tmp_path / "samples/000000.npz", {"x": np.zeros(1, np.float32)})
    run_work(reference, tmp_path / "run", params={}, inputs=inputs, outputs=("reference",))

    assert told(tmp_path) == {
        "compared_with": compared_with,
        "outputs": kinds,
        "samples": 1,
        "why_not": why_not,
    }
