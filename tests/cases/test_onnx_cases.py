"""One small ONNX file per public bug report: what prepare says of it; the rest compiles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qnnbuild.work.prepare import prepare
from qnnbuild.work.run import Run, WorkError
from tests.cases.hopeless import HOPELESS
from tests.compiling import which_compile
from tests.working import PREPARE, run_work, staged

pytestmark = pytest.mark.long_file(seconds=30)

HERE = Path(__file__).parent
CASES = json.loads((HERE / "index.json").read_text(encoding="utf-8"))

REFUSED = {
    **HOPELESS,
    "sym_batch": "input 'x': dimension 0 'N': give a size",
    "sym_hw": "input 'x': dimension 2 'H', dimension 3 'W': give sizes",
    "zero_batch": "input 'x': dimension 0 is 0",
    "no_shape": "input 'x': x has no shape",
    "double_input": "input 'x' is double, which no NPU computes with",
    "fp16_overflow": "the constant 'w' holds 100000, beyond the fp16 range of ±65504",
    "nonzero": "node 'nz' (NonZero) runs on the CPU",
    "loop_op": "node 'lp' (Loop) runs on the CPU",
    "split_middle": "node 'det' (Det) runs on the CPU",
}
WARNED = {
    "case_names": ["the outputs Y, y share a file name on some disks"],
    "fold_bomb": [
        (
            "folding constants grows the model from 240 bytes to 64 MiB; "
            "big constants were left to be computed: 1013 bytes are kept"
        )
    ],
}
FINE = [name for name in CASES if name not in REFUSED]


def prepared(name: str, folder: Path) -> Run:
    model = staged(HERE / CASES[name]["path"], folder / "staged")
    return run_work(
        prepare,
        folder,
        params=PREPARE,
        inputs={"model": model},
        outputs=("model", "baseline", "names", "report"),
    )


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Which of the fine cases become a context binary, by the real plugin."""
    folders = {name: tmp_path_factory.mktemp("case") for name in FINE}
    for name, folder in folders.items():
        prepared(name, folder)
    models = [folder / "out" / "model" for folder in folders.values()]
    return dict(zip(FINE, which_compile(models), strict=True))


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_cannot_be_built_is_refused_in_these_words(name: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        prepared(name, tmp_path)

    assert caught.value.message == REFUSED[name]


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refusal_names_a_place_and_a_way_out(name: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        prepared(name, tmp_path)

    assert caught.value.hint
    assert caught.value.place.split(".")[0] in {"source", "inputs", "cpu_fallback", "precision"}


@pytest.mark.parametrize("name", FINE)
def test_what_can_be_built_is_prepared_with_these_warnings(name: str, tmp_path: Path) -> None:
    run = prepared(name, tmp_path)

    assert [notice.message for notice in run.warnings] == WARNED.get(name, [])


@pytest.mark.parametrize("name", FINE)
def test_what_is_prepared_compiles(name: str, compiled: dict[str, bool]) -> None:
    assert compiled[name]


def test_a_bomb_is_not_stored_unfolded(tmp_path: Path) -> None:
    prepared("fold_bomb", tmp_path)

    assert (tmp_path / "out" / "model" / "model.onnx").stat().st_size < 4096


def test_double_inputs_compile_once_the_recipe_casts_them(tmp_path: Path) -> None:
    model = staged(HERE / "onnx" / "double_input.onnx", tmp_path / "staged")
    wishes = {**PREPARE, "cast": {"float64": "float32"}}
    run_work(
        prepare,
        tmp_path,
        params=wishes,
        inputs={"model": model},
        outputs=("model", "baseline", "names", "report"),
    )

    assert which_compile([tmp_path / "out" / "model"]) == [True]


@pytest.mark.parametrize(
    ("name", "wish"),
    [
        ("int64_input", {"inputs": {"ids": {"dtype": "int32"}}}),
        ("int64_output", {"outputs": [{"name": "y", "dtype": "int32"}]}),
        ("bool_input", {"inputs": {"m": {"dtype": "uint8"}}}),
    ],
)
def test_borders_of_another_type_compile(
    name: str, wish: dict[str, object], tmp_path: Path
) -> None:
    model = staged(HERE / CASES[name]["path"], tmp_path / "staged")
    run_work(
        prepare,
        tmp_path,
        params={**PREPARE, **wish},
        inputs={"model": model},
        outputs=("model", "baseline", "names", "report"),
    )

    assert which_compile([tmp_path / "out" / "model"]) == [True]


@pytest.mark.parametrize("name", ["nonzero", "loop_op", "split_middle"])
def test_what_the_cpu_may_do_is_told_and_not_refused(name: str, tmp_path: Path) -> None:
    model = staged(HERE / CASES[name]["path"], tmp_path / "staged")
    run = run_work(
        prepare,
        tmp_path,
        params={**PREPARE, "cpu_fallback": "allow"},
        inputs={"model": model},
        outputs=("model", "baseline", "names", "report"),
    )

    assert len([n for n in run.warnings if "runs on the CPU" in n.message]) == 1
