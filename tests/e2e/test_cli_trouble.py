"""What goes wrong around the commands of qnnbuild: stores, files, readers, recipes, folders."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.small_repo import BIN, SmallRepo, tiny_repo

pytestmark = pytest.mark.long_file(seconds=30)

WRONG = "model: wrong\nlicense: MIT\nsource: {file: ../onnx/deep.onnx}\nchips: [SM8575]\n"
RANDOM_WEIGHTS = """\
import os
import numpy as np
import onnx
from onnx import helper, numpy_helper

weights = np.frombuffer(os.urandom(64), np.uint8).astype(np.float32)
x, y = (helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [64]) for n in "xy")
node = helper.make_node("Add", ["x", "w"], ["y"])
graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(weights, "w")])
onnx.save(helper.make_model(graph), "m.onnx")
"""
CONTEXT = "context/tiny/wide@SM8750"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Nothing was built in it; tests leave it as it is."""
    return tiny_repo(tmp_path_factory.mktemp("fresh") / "repo")


@pytest.fixture
def repo(tmp_path: Path) -> SmallRepo:
    """For tests that change something."""
    return tiny_repo(tmp_path / "repo")


@pytest.mark.parametrize(
    "words",
    [("plan",), ("why", "tiny"), ("show", CONTEXT), ("models",), ("recipes",), ("shell", CONTEXT)],
)
def test_no_command_goes_on_with_a_wrong_recipe(words: tuple[str, ...], repo: SmallRepo) -> None:
    repo.recipe("wrong", WRONG)
    done = repo.qnnbuild(*words)

    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("recipes/wrong.yaml:4:9: error: no chip is named 'SM8575'\n")


def test_outside_of_a_repo_it_is_told_how_to_make_one(tmp_path: Path, fresh: SmallRepo) -> None:
    outside = SmallRepo(tmp_path, fresh.env)
    ends = {words: outside.qnnbuild(words).code for words in ("check", "plan", "models", "recipes")}

    assert ends == dict.fromkeys(ends, 3)
    assert outside.qnnbuild("plan").err == (
        "error: this is no repo of recipes: there is no qnnbuild.yaml and no recipes/ here or "
        f"above\n  folder: {tmp_path}\n  hint: qnnbuild init DIR makes one\n"
    )
    assert outside.qnnbuild("chips", "SM8750").code == 0
    assert outside.qnnbuild("toolchains").code == 0


def test_a_repo_without_recipes_has_nothing_to_build(tmp_path: Path) -> None:
    empty = SmallRepo.make(tmp_path / "empty")

    assert empty.qnnbuild("check").err == "no recipes: nothing matches recipes/**/*.yaml\n"
    assert empty.qnnbuild("plan").err == "there is nothing to build\n"
    assert empty.doit().summary == "nothing to build"


STORED = [("plan",), ("why", "tiny"), ("show", CONTEXT), ("rebuild", "tiny"), ("shell", CONTEXT)]


@pytest.mark.parametrize("words", STORED)
def test_a_store_that_is_no_folder_is_told(words: tuple[str, ...], repo: SmallRepo) -> None:
    (repo.root / ".qnnbuild").write_text("in the way")
    done = repo.qnnbuild(*words)

    assert (done.code, done.out) == (6, "")
    assert done.err == (
        f"error: the store cannot be used: File exists\n  file: {repo.root}/.qnnbuild\n"
    )


@pytest.mark.parametrize("store", ["/dev/null", "/proc/nothing", "recipes/tiny.yaml/store"])
def test_doit_tells_the_same_of_a_store_that_cannot_be_made(store: str, repo: SmallRepo) -> None:
    done = repo.doit(env={"QNNBUILD_STORE": store})

    assert (done.code, done.out) == (6, "")
    assert done.err.startswith("error: the store cannot be used: ")


@pytest.mark.parametrize("file", ["chips.yaml", "qnnbuild.yaml", "recipes/tiny.yaml"])
def test_a_file_that_is_no_text_has_a_place(file: str, repo: SmallRepo) -> None:
    (repo.root / file).write_bytes(b"a: 1\nb: \xff\n")
    for done in (repo.qnnbuild("check"), repo.doit()):
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"{file}:2:4: error: byte 0xff is not UTF-8\n")


@pytest.mark.parametrize("file", ["chips.yaml", "qnnbuild.yaml"])
def test_a_folder_in_the_place_of_a_file_is_told(file: str, repo: SmallRepo) -> None:
    (repo.root / file).unlink(missing_ok=True)
    (repo.root / file).mkdir()
    for done in (repo.qnnbuild("check"), repo.doit()):
        assert (done.code, done.out) == (2, "")
        assert done.err == (
            f"error: {file} is no file, but a folder or a device\n  file: {repo.root / file}\n"
            "  hint: put a text file in its place, or take it away\n"
        )


def test_a_rebuild_that_makes_other_bytes_is_not_good(tmp_path: Path) -> None:
    repo = SmallRepo.make(tmp_path / "repo")
    run = "{run: [python, export.py], needs: export.py, makes: m.onnx}"
    repo.recipe("m", f"model: m\nlicense: MIT\nsource: {{export: {run}}}\nchips: [SM8750]\n")
    (repo.root / "recipes" / "export.py").write_text(RANDOM_WEIGHTS)
    built = repo.doit("export/m")
    done = repo.qnnbuild("rebuild", "export/m")
    (row,) = done.out.splitlines()

    assert (built.code, done.code) == (0, 5)
    assert row.startswith("differs  export/m  ")
    assert row.endswith("  model/model.onnx")
    assert done.err == "1 of 1 files differ\n"


def test_a_command_whose_reader_has_gone_ends_quietly(fresh: SmallRepo) -> None:
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as gone:
        done = subprocess.run(
            [BIN / "qnnbuild", "chips"], cwd=fresh.root, env=fresh.env, stdout=gone,
            stderr=subprocess.PIPE, text=True, timeout=60, check=False,
        )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, "")


def test_a_doctor_sees_a_file_in_the_place_of_the_store(repo: SmallRepo) -> None:
    (repo.root / ".qnnbuild").write_text("in the way")
    done = repo.qnnbuild("doctor")
    line = next(line for line in done.out.splitlines() if " store " in line)

    assert done.code == 4
    assert line.startswith("BAD  store ")


def test_a_source_that_is_gone_is_an_answer_and_no_failure(repo: SmallRepo) -> None:
    (repo.root / "onnx" / "wide.onnx").unlink()
    done = repo.qnnbuild("plan", "bundle/tiny@SM8550")

    assert done.code == 0
    assert done.out.startswith("broken  fetch/tiny/wide           no such file: onnx/wide.onnx\n")
    assert "  fetch/tiny/wide is broken: no such file: onnx/wide.onnx\n" in (
        repo.qnnbuild("why", "bundle/tiny@SM8550").out
    )
