"""What prepare makes: the same bytes in every process, and what the real plugin compiles."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from qnnbuild.work.prepare import prepare
from tests.compiling import which_compile
from tests.graphs import model
from tests.repairable import BROKEN
from tests.working import PREPARE, run_work, staged, written

pytestmark = pytest.mark.long_file(seconds=30)

REPO = Path(__file__).parents[2]
CASES = REPO / "tests" / "cases" / "onnx"

REFUSED_BEFORE = {
    "gelu/no half",
    "clip-bounds/computed min",
    "clip-bounds/computed max only",
    "default-activations/lstm",
}
"""The others compile as they are here, and not, or not well, in some models that are published."""

AGAIN = """
import sys
from pathlib import Path
from qnnbuild.work.prepare import prepare
from tests.working import PREPARE, run_work
folder = Path(sys.argv[1])
run_work(prepare, folder, params=PREPARE, inputs={"model": folder / "staged"},
         outputs=("model", "baseline", "names", "report"))
"""


def bytes_of(folder: Path) -> dict[str, bytes]:
    files = [file for file in (folder / "out").rglob("*") if file.is_file()]
    return {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}


@pytest.mark.parametrize("case", ["no_node_names", "qdq_pc", "fold_bomb", "local_function"])
def test_every_process_makes_the_same_bytes(case: str, tmp_path: Path) -> None:
    made = []
    for seed, name in (("1", "here"), ("2", "somewhere/else")):
        folder = tmp_path / name
        staged(CASES / f"{case}.onnx", folder / "staged")
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        argv = [sys.executable, "-c", AGAIN, str(folder)]
        subprocess.run(argv, cwd=REPO, env=environment, check=True, capture_output=True)
        made.append(bytes_of(folder))

    assert sorted(made[0]) == [
        "out/baseline/baseline.json",
        "out/baseline/model.onnx",
        "out/model/model.onnx",
        "out/names/names.json",
        "out/report/report.json",
    ]
    assert made[0] == made[1]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, bool], bool]:
    """(the case, whether it was repaired) → whether it became a context binary."""
    wanted = [(case, mended) for case in BROKEN for mended in (False, True)]
    folders = []
    for case, mended in wanted:
        folder = tmp_path_factory.mktemp("repair")
        repairs = [case.partition("/")[0]] if mended else []
        run_work(
            prepare,
            folder,
            params={**PREPARE, "repairs": repairs},
            inputs={"model": written(BROKEN[case](), folder / "source")},
            outputs=("model", "baseline", "names", "report"),
        )
        folders.append(folder / "out" / "model")
    return dict(zip(wanted, which_compile(folders), strict=True))


@pytest.mark.parametrize("case", BROKEN)
def test_what_is_repaired_compiles(case: str, compiled: dict[tuple[str, bool], bool]) -> None:
    assert compiled[case, True]


def test_the_plugin_refuses_these_without_the_repair(
    compiled: dict[tuple[str, bool], bool],
) -> None:
    assert {case for case in BROKEN if not compiled[case, False]} == REFUSED_BEFORE


def test_an_if_on_a_frozen_input_compiles(tmp_path: Path) -> None:
    made = model(
        "g (float[1, 4] x, int64 sr) => (float[1, 4] y) {"
        " k = Constant <value = int64 {16000}> () c = Equal (sr, k)"
        " y = If (c) <then_branch = t () => (float[1, 4] p) { p = Neg (x) },"
        " else_branch = e () => (float[1, 4] q) { q = Sinh (x) }> }"
    )
    run_work(
        prepare,
        tmp_path,
        params={**PREPARE, "constants": {"sr": 16000}},
        inputs={"model": written(made, tmp_path / "source")},
        outputs=("model", "baseline", "names", "report"),
    )

    assert which_compile([tmp_path / "out" / "model"]) == [True]
