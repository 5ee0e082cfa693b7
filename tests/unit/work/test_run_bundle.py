"""The program that goes along with a bundle: what it says without any runtime."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.work import run_bundle
from qnnbuild.work.measures import as_json, compare_arrays, total
from qnnbuild.work.random_numbers import random_numbers

KINDS = ("provider_options", "session_options", "run_options", "dynamic_options")
RUN: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
X = {"name": "x", "dtype": "float32", "shape": [2, 3]}


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle's folder with two graphs, one of which an app cannot load."""
    files = {"a_ctx.onnx": b"a", "a_ctx_qnn.bin": b"binary", "b.bin": b"b"}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    graphs = {
        "a": {"onnx": "a_ctx.onnx", "files": ["a_ctx.onnx", "a_ctx_qnn.bin"], "inputs": [X]},
        "b": {"onnx": None, "files": ["b.bin"], "inputs": []},
    }
    manifest = {
        "model": "m",
        "chips": [{"name": "SM8750", "soc_model": 69}],
        "graphs": graphs,
        "files": {name: {"sha256": digest_bytes(data)} for name, data in files.items()},
    }
    (tmp_path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.setattr(run_bundle, "HERE", tmp_path)
    monkeypatch.setattr(run_bundle, "RUN", {"a": dict(RUN), "b": dict(RUN)})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """The exit code and the last line of what was told."""
    code = run_bundle.main(words)
    told = capsys.readouterr()
    return code, (told.err or told.out).splitlines()[-1]


def test_it_needs_nothing_that_a_user_does_not_have():
    tree = ast.parse(Path(run_bundle.__file__).read_text(encoding="utf-8"))
    imported = {
        name.partition(".")[0]
        for node in ast.walk(tree)
        for name in (
            [alias.name for alias in node.names] if isinstance(node, ast.Import)
            else [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        )
    }  # fmt: skip

    assert imported - sys.stdlib_module_names == {"numpy", "onnxruntime", "onnxruntime_qnn"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        ([], 2, "which graph? --graph is one of a, b"),
        (["--graph", "c"], 3, "there is no graph 'c'; there is a, b"),
        (["--graph", "b"], 4, "'b' has no .onnx file: it is for the QNN runtime alone"),
        (["--graph", "a", "--repeat", "0"], 2, "--repeat wants 1 or more"),
        (["--graph", "a", "--inputs", "."], 3, "the folder '.' has no .npz file"),
        (
            ["--graph", "a", "--inputs", "no.npz"],
            3,
            "'no.npz' is no .npz to read: [Errno 2] No such file or directory: 'no.npz'",
        ),
    ],
)
def test_what_cannot_be_meant_is_told(words, code, told, capsys):
    assert said(capsys, *words) == (code, f"run.py: {told}")


def test_both_kinds_of_inputs_are_not_taken_at_once(capsys):
    with pytest.raises(SystemExit) as caught:
        run_bundle.main(["--inputs", "x.npz", "--random", "1"])

    assert caught.value.code == 2
    assert "not allowed with argument --inputs" in capsys.readouterr().err


def test_all_files_are_compared_when_asked(capsys):
    assert said(capsys, "--check") == (0, "files: 3, each as manifest.json says")


def test_another_file_in_the_place_of_one_is_refused(here, capsys):
    (here / "a_ctx_qnn.bin").write_bytes(b"another")
    found, wanted = digest_bytes(b"another"), digest_bytes(b"binary")

    code, told = said(capsys, "--graph", "a")

    assert code == 5
    assert told == (
        "run.py: 'a_ctx_qnn.bin' is not the file of this bundle: "
        f"its sha256 is {found}, manifest.json says {wanted}"
    )


def test_a_missing_file_and_a_missing_manifest_are_told(here, capsys):
    (here / "b.bin").unlink()
    without_file = said(capsys, "--check")
    (here / "manifest.json").unlink()
    code, told = said(capsys, "--check")

    assert without_file == (5, "run.py: 'b.bin' of this bundle is missing")
    assert (code, told[:47]) == (5, "run.py: manifest.json beside run.py cannot be r")


def test_an_adapter_that_is_not_there_is_no_silent_run_without_it(capsys, monkeypatch):
    lora = {**RUN, "run_options": {"qnn.lora_config": "adapter.txt"}}
    monkeypatch.setattr(run_bundle, "RUN", {"a": lora})

    assert said(capsys, "--graph", "a") == (
        5,
        "run.py: qnn.lora_config: 'adapter.txt' is no file of this bundle",
    )


def adapted(wanted: str | None) -> dict[str, str]:
    """The run options of a graph with two adapters, one of which is usual."""
    adapters = {name: {"config": f"{name}.txt", "file": f"{name}.bin"} for name in ("fr", "de")}
    usual = {"qnn.perf_mode": "burst", "qnn.lora_config": "fr.txt"}
    graph = {"lora": {"adapters": adapters}, "run": {**RUN, "run_options": usual}}
    found: dict[str, str] = run_bundle._with_adapter(graph, wanted)["run"]["run_options"]
    return found


def test_an_adapter_stands_in_the_place_of_the_usual_one():
    assert adapted(None)["qnn.lora_config"] == "fr.txt"
    assert adapted("de") == {"qnn.perf_mode": "burst", "qnn.lora_config": "de.txt"}
    assert adapted("none") == {"qnn.perf_mode": "burst"}


def test_an_adapter_that_nobody_knows_is_told_with_those_that_are(capsys):
    with pytest.raises(run_bundle.Stop, match="no adapter 'es'; there is fr, de"):
        adapted("es")

    assert said(capsys, "--graph", "a", "--lora", "fr") == (
        3,
        "run.py: no adapter 'fr'; there is none",
    )


@pytest.mark.parametrize(
    ("arrays", "told"),
    [
        ({"y": np.zeros((2, 3), np.float32)}, "has no array for the input 'x'; it has y"),
        (
            {"x": np.zeros((3, 2), np.float32)},
            "'x' is float32 [3, 2], wanted is float32 [2, 3]",
        ),
        ({"x": np.zeros((2, 3), complex)}, "'x' is complex128 [2, 3], wanted is float32 [2, 3]"),
    ],
)
def test_arrays_that_do_not_fit_are_told(arrays: dict[str, Any], told: str, capsys):
    np.savez("in.npz", **arrays)
    code, last = said(capsys, "--graph", "a", "--inputs", "in.npz")

    assert code == 3
    assert last.endswith(told)


def test_doubles_are_taken_for_floats():
    arrays = {"x": np.ones((2, 3))}

    assert run_bundle._fitting(arrays, X, Path("in.npz")).dtype == np.float32


@pytest.mark.parametrize(
    ("dtype", "between"),
    [("float32", None), ("float16", (0, 5)), ("int64", (1, 9)), ("bool", None)],
)
def test_random_inputs_are_the_ones_of_a_build(dtype, between):
    one = {"name": "x", "dtype": dtype, "shape": [2, 300], "range": between}
    found = run_bundle._random(one, 4)
    wanted = random_numbers("x", 4, dtype=np.dtype(dtype), shape=[2, 300], between=between)

    assert found.dtype == wanted.dtype
    assert np.array_equal(found, wanted)


def test_the_numbers_of_a_comparison_are_those_of_a_build():
    random = np.random.default_rng(3)
    theirs = [random.standard_normal((2, 40)).astype(np.float32) for _ in range(3)]
    ours = [array + np.float32(0.001) * array**2 for array in theirs]
    theirs[0][0, 0] = np.inf
    sums = total(compare_arrays(a, b) for a, b in zip(ours, theirs, strict=True))
    told = as_json(sums)

    assert run_bundle._difference(list(zip(ours, theirs, strict=True))) == (
        f"SQNR {told['sqnr_db']:g} dB, largest error {told['max_abs']:g}, "
        f"cosine {told['cosine']:.8f}"
    )


def test_whole_numbers_and_equal_ones_are_told_as_such():
    ints, floats = np.array([1, 2, 5]), np.array([1.0, 2.0])

    assert run_bundle._difference([(ints, np.array([1, 2, 3]))]) == "1 of 3 differ, by at most 2"
    assert run_bundle._difference([(floats, floats)]) == "equal, 2 numbers"


def test_an_answer_that_is_not_finite_is_as_far_off_as_can_be():
    one = np.array([1.0, np.nan])

    assert run_bundle._difference([(one, np.array([1.0, 2.0]))]).startswith("SQNR -inf dB")
