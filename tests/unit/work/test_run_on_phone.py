"""What the phone's program makes of files and words that came from a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work import run_on_phone
from qnnbuild.work.run_on_phone import Stop

PHONE: dict[str, Any] = {
    "inner": "enc",
    "skel": "libQnnHtpV79Skel.so",
    "failures": ["Device Creation failure", "Unused Argument"],
    "command": "cd /data && ./qnn-net-run",
}
OUTPUT: dict[str, Any] = {
    "name": "/y",
    "tensor": "_y",
    "dtype": "uint8",
    "shape": [2, 3],
    "scale": 0.5,
    "offset": -2,
    "order": [1, 0],
    "kind": {"kind": "float"},
    "as": None,
}


def answer(folder: Path, **more: Any) -> Any:
    return run_on_phone._answer(PHONE, folder, 0, {**OUTPUT, **more}, "its words")


def put(folder: Path, name: str, data: bytes) -> None:
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(data)


@pytest.mark.parametrize("name", ["Result_0/_y_native.raw", "enc/Result_0/_y_native.raw"])
def test_an_answer_is_floats_in_the_models_order(tmp_path: Path, name: str) -> None:
    put(tmp_path, name, bytes([2, 3, 4, 5, 6, 7]))

    assert answer(tmp_path).tolist() == [[0.0, 1.5], [0.5, 2.0], [1.0, 2.5]]


def test_a_file_without_the_word_native_may_hold_floats(tmp_path: Path) -> None:
    put(tmp_path, "Result_0/_y.raw", np.arange(6, dtype="<f4").tobytes())

    assert answer(tmp_path)[2, 1] == 5.0


def test_whole_numbers_get_the_originals_type(tmp_path: Path) -> None:
    put(tmp_path, "Result_0/_y_native.raw", np.arange(6, dtype="<i4").tobytes())
    whole = {"dtype": "int32", "scale": None, "offset": None, "order": [0, 1]}

    found = answer(tmp_path, **whole, **{"as": "int64", "kind": {"kind": "exact"}})

    assert (found.dtype.name, found.tolist()) == ("int64", [[0, 1, 2], [3, 4, 5]])


def test_missing_and_short_answers_are_told(tmp_path: Path) -> None:
    with pytest.raises(Stop, match=r"no answer for '/y'; it wrote none(?s:.*)its words"):
        answer(tmp_path)
    put(tmp_path, "Result_0/_y_native.raw", b"12345")
    with pytest.raises(Stop, match="has 5 bytes, 6 belong there"):
        answer(tmp_path)


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("error: 4000\nended with 1\n", "found no skel that it could load: libQnnHtpV79Skel.so"),
        ("Stub lib id mismatch: expected v1 detected v2\nended with 1\n", "of another SDK are on"),
        ("Device Creation failure\nended with 0\n", "by hand: adb shell 'cd /data"),
        (
            "Device Creation failure\nended with 0\n",
            "ended with exit code 0 and said: Device Creation failure",
        ),
        ("Unused Arguments --x\nended with 0\n", "exit code 0 and said: Unused Argument"),
        ("Killed\n", "the phone ended the run without a word"),
    ],
)
def test_what_the_phone_says_is_told_with_what_it_means(said: str, told: str) -> None:
    run_on_phone._check_ended(PHONE, "Finished Executing Graphs\nended with 0\n")
    with pytest.raises(Stop) as caught:
        run_on_phone._check_ended(PHONE, said)

    assert told in str(caught.value)


def test_an_answer_that_is_nan_where_the_original_is_not_ends_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_on_phone, "HERE", tmp_path)
    (tmp_path / "expected").mkdir()
    np.savez(tmp_path / "expected" / "000001.npz", y=np.array([np.nan, 1.0]))
    nan = {"y": np.array([np.nan, np.nan])}
    with pytest.raises(Stop, match="1 of 2 values of the output 'y' are NaN"):
        run_on_phone._check_finite(PHONE, 1, nan, "its words")
    with pytest.raises(Stop, match="2 of 2 values"):
        run_on_phone._check_finite(PHONE, 0, nan, "its words")

    fine = {"y": np.array([np.inf, 1.0]), "n": np.array([1])}
    run_on_phone._check_finite(PHONE, 1, fine, "its words")


VERDICT: dict[str, Any] = {"graph": "enc", "chip": "SM8750", "debug": None, "metrics": {}}
NUMBERS = {
    "graph": "enc",
    "chip": {},
    "sdk_build": "v2",
    "binary": {},
    "samples": 1,
    "compared_with": "onnxruntime",
    "why_not": None,
}


@pytest.mark.parametrize(
    ("bars", "why_not", "code", "told"),
    [
        ({"min_sqnr_db": 30.0}, None, 0, "'enc' on phone is good"),
        ({}, None, 3, "ran and is not judged (no bar of the recipe is about answers alone)"),
        ({"min_sqnr_db": 30.0}, "it is quantized", 3, "ran and is not judged (it is quantized)"),
    ],
)
def test_what_was_held_against_nothing_is_not_called_good(  # noqa: PLR0917 - a table and fixtures
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    bars: dict[str, float], why_not: str | None, code: int, told: str,
) -> None:  # fmt: skip
    monkeypatch.setattr(run_on_phone, "HERE", tmp_path)
    for name in ("expected", "out/answers"):
        (tmp_path / name).mkdir(parents=True)
        np.savez(tmp_path / name / "000000.npz", y=np.arange(4, dtype=np.float32))
    phone = {
        **PHONE,
        "graph": "enc",
        "outputs": [{**OUTPUT, "name": "y"}],
        "numbers": {**NUMBERS, "why_not": why_not},
        "verdict": {**VERDICT, "bars": bars},
    }
    args = run_on_phone.Args(output=tmp_path / "out")

    assert run_on_phone._judge(args, phone, "phone") == code
    assert told in capsys.readouterr().out
