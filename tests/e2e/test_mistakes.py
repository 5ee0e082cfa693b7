"""Mistakes that people make, through real doit: a place, the facts, a way out, and nothing left."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from qnnbuild.digest import digest_file
from tests.e2e.small_repo import SmallRepo
from tests.graphs import model
from tests.models import scale_bytes, scale_model, tiny_qdq, with_erf, write_with_side_file

pytestmark = pytest.mark.long_file(seconds=180)

GOLDEN = Path(__file__).parents[1] / "golden" / "mistakes"
RECIPE = """\
model: m
license: MIT
source: {file: ../onnx/m.onnx}
graphs:
  g: {}
chips: [SM8750]
"""


def _graph(told: str) -> str:
    return RECIPE.replace("g: {}", f"g: {{{told}}}")


RECIPES = {
    "no-such-chip": RECIPE.replace("SM8750", "SM8755"),
    "a-chip-by-its-shop-name": RECIPE.replace("SM8750", "Snapdragon 8 Elite"),
    "no-such-option": _graph("options: {ort: {vtcm: 4}}"),
    "more-than-the-chip-has": _graph("options: {ort: {vtcm_mb: 64}}"),
    "no-such-toolchain": RECIPE + "toolchain: otr\n",
    "no-such-input": _graph("inputs: {z: {shape: [1, 64]}}"),
    "another-rank": _graph("inputs: {x: {shape: [64]}}"),
    "no-such-output": _graph("outputs: [z]"),
    "no-such-output-to-judge": _graph("verify: {outputs: {yy: {max_abs_error: 0.02}}}"),
    "no-such-source": RECIPE.replace("m.onnx", "n.onnx"),
    "no-samples": _graph("samples: nothing/*.npz"),
    "no-such-licence": RECIPE.replace("MIT", "{spdx: MIT, file: LICENSE}"),
    "no-such-file-of-the-bundle": RECIPE + "bundle:\n  files:\n    - words.txt\n",
    "fp16-where-there-is-none": RECIPE.replace("SM8750", "SM8350"),
}


def _symbolic(path: Path) -> None:
    scale = scale_model(size=64)
    dimension = scale.graph.input[0].type.tensor_type.shape.dim[0]
    dimension.ClearField("dim_value")
    dimension.dim_param = "batch"
    onnx.save(scale, str(path))


def _side_file_cut(path: Path) -> None:
    write_with_side_file(path.parent, path.name)
    side = path.parent / "m.data"
    side.write_bytes(side.read_bytes()[:-16])


def _side_file_gone(path: Path) -> None:
    write_with_side_file(path.parent, path.name)
    (path.parent / "m.data").unlink()


def _repo_recipe(path: Path, text: str) -> None:
    (path.parents[1] / "recipes" / "m.yaml").write_text(text)


def _exported(path: Path) -> None:
    """A recipe with an export whose requirements are not written yet."""
    (path.parents[1] / "recipes" / "e.py").write_text("")
    told = "".join(
        f"    {line}\n"
        for line in ("run: [python, e.py]", "needs: [e.py]", "makes: m.onnx", "requirements: r.txt")
    )
    _repo_recipe(path, RECIPE.replace(" {file: ../onnx/m.onnx}\n", f"\n  export:\n{told}"))


def _loose_requirements(path: Path) -> None:
    _exported(path)
    (path.parents[1] / "recipes" / "r.txt").write_text("torch\n")


def _no_such_licence_member(path: Path) -> None:
    """The package is a wheel of the user's that no index has to be asked for."""
    package = path.parent / "m.zip"
    with zipfile.ZipFile(package, "w") as archive:
        archive.writestr(zipfile.ZipInfo("m/m.onnx"), scale_bytes(size=64))
        archive.writestr(zipfile.ZipInfo("m/LICENSE.md"), "free\n")
    source = f'{{url: "{package.as_uri()}", member: m/m.onnx, sha256: {digest_file(package)}}}'
    told = RECIPE.replace("{file: ../onnx/m.onnx}", source)
    _repo_recipe(path, told.replace("license: MIT", "license: {spdx: MIT, member: m/LICENSE}"))


def _calibrated(path: Path, *samples: float) -> None:
    """A graph in 8 bits whose calibration is the same number everywhere, file by file."""
    told = "g: {precision: w8a8, calibration: ../calib/*.npz}"
    _repo_recipe(path, RECIPE.replace("g: {}", told))
    folder = path.parents[1] / "calib"
    folder.mkdir()
    for number, value in enumerate(samples):
        array = np.linspace(-1, 1, 64, dtype=np.float32)[None] * np.float32(value)
        np.savez(folder / f"{number}.npz", x=array)


def _beyond_fp16(path: Path) -> None:
    big = np.full((64, 64), 1e5, np.float32)
    text = "g (float[1, 64] x) => (float[1, 64] y) { [sum] y = MatMul (x, w) }"
    onnx.save(model(text, w=big), str(path))


def _scale_of_zero(path: Path) -> None:
    _repo_recipe(path, RECIPE.replace("g: {}", "g: {precision: qdq}"))
    quantized = tiny_qdq()
    scale = next(t for t in quantized.graph.initializer if t.name.endswith("scale"))
    scale.CopyFrom(numpy_helper.from_array(np.zeros((), np.float32), scale.name))
    onnx.save(quantized, str(path))


POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:abc\nsize 12345\n"
MODELS: dict[str, Callable[[Path], object]] = {
    "a-dimension-with-a-name": _symbolic,
    "weights-cut-short": lambda path: path.write_bytes(scale_bytes(size=64)[:-100]),
    "side-file-cut-short": _side_file_cut,
    "side-file-gone": _side_file_gone,
    "a-pointer-of-git-lfs": lambda path: path.write_text(POINTER),
    "a-web-page": lambda path: path.write_text("<!doctype html><title>Sign in</title>"),
    "an-operator-that-the-npu-has-not": lambda path: onnx.save(with_erf(), str(path)),
    "calibration-of-zeros": lambda path: _calibrated(path, 1, 0),
    "calibration-with-a-nan": lambda path: _calibrated(path, 1, float("nan")),
    "a-scale-of-zero": _scale_of_zero,
    "a-weight-beyond-fp16": _beyond_fp16,
    "no-such-requirements": _exported,
    "loose-requirements": _loose_requirements,
    "no-such-licence-member": _no_such_licence_member,
}
EXIT_CODES = {
    **dict.fromkeys(RECIPES, 2),
    **dict.fromkeys(MODELS, 4),
    "a-dimension-with-a-name": 2,
    "calibration-of-zeros": 2,
    "a-weight-beyond-fp16": 2,
    "calibration-with-a-nan": 2,
    "a-scale-of-zero": 2,
    "no-such-requirements": 2,
    "loose-requirements": 2,
    "no-such-licence-member": 2,
}


@pytest.fixture
def repo(tmp_path: Path) -> SmallRepo:
    made = SmallRepo.make(tmp_path / "repo")
    made.model("m", scale_model(size=64))
    made.recipe("m", RECIPE)
    return made


@pytest.mark.parametrize("mistake", [*RECIPES, *MODELS])
def test_a_mistake_has_a_place_and_a_way_out_and_leaves_nothing(
    mistake: str, repo: SmallRepo, golden: Callable[[Path, str], None]
) -> None:
    if mistake in RECIPES:
        repo.recipe("m", RECIPES[mistake])
    else:
        MODELS[mistake](repo.root / "onnx" / "m.onnx")
    done = repo.doit()
    again = repo.doit()
    text = done.err or done.out

    assert done.code == EXIT_CODES[mistake]
    assert repo.left_in_store() == []
    assert not (repo.root / "build" / "m").exists()
    assert _failure(again.err or again.out) == _without_warnings(_failure(text))
    golden(GOLDEN / f"{mistake}.txt", _failure(text).replace(str(repo.root), "ROOT"))


def _without_warnings(text: str) -> str:
    """What was made before the failure is reused the second time, and says nothing any more."""
    return re.sub(r"^  warning: .*\n", "", text, flags=re.MULTILINE)


def _failure(text: str) -> str:
    """What is told of the failure: no times, and not what went well before it."""
    told = re.sub(r"^made \S+ \(.*\n", "", text, flags=re.MULTILINE)
    told = re.sub(r"[0-9a-f]{2}/[0-9a-f]{64}", "AB/SHA256", told)
    told = re.sub(r"; took .*", "", told)
    return re.sub(r"^(made|reused) \d+, failed", "failed", told, flags=re.MULTILINE)
