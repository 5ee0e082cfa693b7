"""Real doit with the real compiler on three small graphs: what runs after which change."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from tests.e2e.small_repo import BIN, SmallRepo
from tests.models import scale_model, tiny_conv, with_erf

pytestmark = pytest.mark.long_file(seconds=140)

GRAPHS = ("a", "b", "c")
CHIPS = ("SM8550", "SM8750")
RECIPE = """\
model: three
license: MIT
source: {file: "../onnx/{graph}.onnx"}
graphs:
  a: {}
  b: {}
  c: {}
chips: [SM8550, SM8750]
"""
ALL = [
    *(f"fetch/three/{g}" for g in GRAPHS),
    *(f"prepare/three/{g}" for g in GRAPHS),
    *(f"convert/three/{g}+fp16" for g in GRAPHS),
    *(f"context/three/{g}@{chip}" for g in GRAPHS for chip in CHIPS),
    *(f"bundle/three@{chip}" for chip in CHIPS),
]
PAPERS = ("provenance.intoto.json", "bom.cdx.json")
BUNDLES = [f"bundle/three@{chip}" for chip in CHIPS]
NOTHING = f"nothing to do: reused {len(ALL)}"


def chain(graph: str) -> list[str]:
    """All that stands on the source of one graph."""
    own = [f"{step}/three/{graph}" for step in ("fetch", "prepare")]
    contexts = [f"context/three/{graph}@{chip}" for chip in CHIPS]
    return [*own, f"convert/three/{graph}+fp16", *contexts, *BUNDLES]


def _sources(root: Path) -> SmallRepo:
    repo = SmallRepo.make(root)
    for graph, channels in zip(GRAPHS, (8, 12, 16), strict=True):
        repo.model(graph, tiny_conv(channels))
    repo.recipe("three", RECIPE)
    return repo


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Built from nothing; tests leave it as it is."""
    repo = _sources(tmp_path_factory.mktemp("base") / "repo")
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    assert sorted(done.ran) == sorted(ALL)
    return repo


@pytest.fixture
def repo(base: SmallRepo, tmp_path: Path) -> SmallRepo:
    """A copy of it, store and all, to change something in."""
    shutil.copytree(base.root, tmp_path / "repo")
    copied = SmallRepo(tmp_path / "repo", base.env)
    assert copied.doit().ran == []
    return copied


def change_weight(repo: SmallRepo, graph: str) -> None:
    """Another value of one number among thousands."""
    model = onnx.load(repo.root / "onnx" / f"{graph}.onnx")
    weights = next(w for w in model.graph.initializer if w.name == "w")
    array = np.array(numpy_helper.to_array(weights))
    array.flat[0] += 0.5
    weights.CopyFrom(numpy_helper.from_array(array, "w"))
    repo.model(graph, model)


def keys(repo: SmallRepo) -> dict[str, str]:
    with sqlite3.connect(repo.root / ".qnnbuild" / "records.db") as db:
        found = db.execute("select record from records").fetchall()
    records = [json.loads(row[0]) for row in found]
    return {record["name"]: record["key"] for record in records}


def artifact(repo: SmallRepo, name: str, output: str, file: str) -> Path:
    record = json.loads(repo.qnnbuild("show", name, "--json").out)["record"]
    digest, _ = record["outputs"][output]["files"][file]
    (path,) = (repo.root / ".qnnbuild" / "artifacts").rglob(f"*{digest[2:]}*")
    return path


def test_a_second_run_builds_nothing(repo: SmallRepo) -> None:
    done = repo.doit()

    assert (done.code, done.err, done.summary) == (0, "", NOTHING)


def test_touched_files_build_nothing(repo: SmallRepo) -> None:
    for path in (*repo.root.glob("onnx/*"), *repo.root.glob("recipes/*"), repo.root / "dodo.py"):
        path.touch()

    assert repo.doit().summary == NOTHING


def test_a_changed_weight_runs_the_chain_of_its_graph(repo: SmallRepo) -> None:
    change_weight(repo, "b")
    done = repo.doit()

    assert done.code == 0
    assert sorted(done.ran) == sorted(chain("b"))
    assert done.summary == f"made {len(done.ran)}, reused {len(ALL) - len(done.ran)}"


def test_going_back_to_old_weights_runs_nothing(repo: SmallRepo, base: SmallRepo) -> None:
    change_weight(repo, "b")
    changed = repo.doit()
    different = repo.files() != base.files()
    shutil.copy(base.root / "onnx" / "b.onnx", repo.root / "onnx" / "b.onnx")
    back = repo.doit()

    assert different
    assert changed.ran != []
    assert (back.ran, back.summary) == ([], f"restored 2, reused {len(ALL) - 2}")
    assert repo.files() == base.files()


def test_a_new_chip_runs_a_context_for_each_graph_and_a_bundle(repo: SmallRepo) -> None:
    repo.recipe("three", RECIPE.replace("SM8550", "SM8550, SM8650"))
    done = repo.doit()

    assert sorted(done.ran) == [
        "bundle/three@SM8650",
        *(f"context/three/{graph}@SM8650" for graph in GRAPHS),
    ]


def test_a_chip_that_is_taken_out_takes_its_bundle_along(repo: SmallRepo) -> None:
    repo.recipe("three", RECIPE.replace("SM8550, ", ""))
    done = repo.doit()
    index = json.loads((repo.root / "build" / "index.json").read_text())

    assert done.ran == []
    assert index["published"] == ["three/SM8750"]


@pytest.mark.parametrize(
    "changed",
    [
        f"# what these are for\n{RECIPE}",
        RECIPE.replace("a: {}", "a: {}   # the first"),
        RECIPE.replace("  a: {}\n", "\n\n  a:\n"),
        RECIPE.replace("license: MIT\n", "").replace("chips", "license: 'MIT'\nchips"),
    ],
    ids=["a comment", "a comment behind", "other lines", "another order"],
)
def test_what_means_the_same_runs_nothing(changed: str, repo: SmallRepo) -> None:
    repo.recipe("three", changed)

    assert repo.doit().summary == NOTHING


def test_a_changed_option_runs_the_contexts_of_its_graph(repo: SmallRepo) -> None:
    repo.recipe("three", RECIPE.replace("a: {}", "a: {options: {ort: {vtcm_mb: 4}}}"))
    done = repo.doit()

    assert sorted(done.ran) == sorted([*(f"context/three/a@{c}" for c in CHIPS), *BUNDLES])


def test_how_a_graph_runs_makes_bundles_and_nothing_else(repo: SmallRepo, base: SmallRepo) -> None:
    run = "run: {perf_mode: burst, workload_type: Efficient}"
    option = "options: {ort: {htp_performance_mode: burst}}"
    some = "only: {SM8750: {run: {rpc_control_latency: 100}}}"
    repo.recipe("three", RECIPE.replace("a: {}", f"a: {{{run}, {option}, {some}}}"))
    done = repo.doit()
    before = base.files()
    different = {name for name, data in repo.files().items() if before[name] != data}

    assert (done.code, sorted(done.ran)) == (0, BUNDLES)
    assert different == {
        "index.json",
        *(f"three/{chip}/{name}" for chip in CHIPS for name in ("manifest.json", "run.py")),
        *(f"three/{chip}/README.md" for chip in CHIPS),  # it shows how
        # the papers tell the digest of every file of the bundle
        *(f"three/{chip}/{name}" for chip in CHIPS for name in PAPERS),
    }


def test_what_only_users_read_runs_the_bundles(repo: SmallRepo) -> None:
    repo.recipe("three", f"description: Three of them.\n{RECIPE}")

    assert sorted(repo.doit().ran) == BUNDLES


def test_a_plan_and_why_say_before_what_a_build_then_does(repo: SmallRepo) -> None:
    change_weight(repo, "c")
    planned = json.loads(repo.qnnbuild("plan", "--stale", "--json").out)
    told = repo.qnnbuild("why", "fetch/three/c").out

    assert told.startswith("fetch/three/c: stale\n  the file onnx/c.onnx changed: ")
    assert sorted(row["name"] for row in planned) == sorted(repo.doit().ran)


def test_two_folders_give_equal_keys_and_equal_bytes(base: SmallRepo, tmp_path: Path) -> None:
    other = base.copy(tmp_path / "somewhere" / "else entirely")
    done = other.doit("-n", "2")

    assert sorted(done.ran) == sorted(ALL)
    assert keys(other) == keys(base)
    assert other.files() == base.files()


def test_a_second_checkout_with_the_same_store_compiles_nothing(
    repo: SmallRepo, tmp_path: Path
) -> None:
    other = repo.copy(tmp_path / "other", QNNBUILD_STORE=str(repo.root / ".qnnbuild"))
    done = other.doit()

    assert (done.ran, done.summary) == ([], f"restored 2, reused {len(ALL) - 2}")
    assert other.files() == repo.files()
    assert not (other.root / ".qnnbuild" / "artifacts").exists()


@pytest.mark.parametrize("checkouts", [1, 2])
def test_two_builds_at_once_run_each_action_once(checkouts: int, tmp_path: Path) -> None:
    first = _sources(tmp_path / "first")
    first.env["QNNBUILD_STORE"] = str(tmp_path / "store")
    repos = [first, first if checkouts == 1 else first.copy(tmp_path / "second")]
    running = [
        subprocess.Popen(
            [BIN / "doit"], cwd=repo.root, env=repo.env, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for repo in repos
    ]  # fmt: skip
    ended = [process.communicate(timeout=240) for process in running]
    ran = [line.split()[1] for out, _ in ended for line in out.splitlines() if "made " in line[:5]]

    assert [(p.returncode, err) for p, (_, err) in zip(running, ended, strict=True)] == [
        (0, "")
    ] * 2
    assert sorted(name for name in ran if "/" in name) == sorted(ALL)
    assert repos[0].files() == repos[1].files()


def test_a_damaged_artifact_is_dropped_and_made_again(repo: SmallRepo) -> None:
    damaged = artifact(repo, "context/three/a@SM8750", "context", "a_ctx_qnn.bin")
    before = damaged.read_bytes()
    damaged.chmod(0o644)
    damaged.write_bytes(bytes(len(before)))
    done = repo.doit()

    assert done.ran == ["context/three/a@SM8750"]
    assert damaged.read_bytes() == before


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"mine")])
def test_a_file_that_users_lost_is_put_back_without_compiling(
    harm: Callable[[Path], object], repo: SmallRepo, base: SmallRepo
) -> None:
    path = repo.root / "build/three/SM8750/b_ctx_qnn.bin"
    path.chmod(0o644)
    harm(path)
    done = repo.doit()

    assert (done.ran, done.summary) == ([], f"restored 1, reused {len(ALL) - 1}")
    assert repo.files() == base.files()


@pytest.mark.parametrize("chip", CHIPS)
def test_each_binary_names_its_chip_and_the_index_lists_it(chip: str, base: SmallRepo) -> None:
    binaries = [f"build/three/{chip}/{graph}_ctx_qnn.bin" for graph in GRAPHS]
    found = json.loads(base.qnnbuild("inspect", "--json", *binaries).out)
    index = json.loads((base.root / "build" / "index.json").read_text())
    (bundle,) = index["chips"][chip]["three"].values()

    assert [facts["soc_type"] for facts in found] == [chip] * 3
    assert {f"{graph}_ctx_qnn.bin" for graph in GRAPHS} <= bundle["files"].keys()
    assert bundle["path"] in index["published"]


def test_what_may_not_be_redistributed_is_built_and_not_published(tmp_path: Path) -> None:
    repo = SmallRepo.make(tmp_path / "repo")
    repo.model("scale", scale_model(size=64))
    for name, licence in (("open", "MIT"), ("closed", "{spdx: LicenseRef-x, redistribute: false}")):
        source = "source: {file: ../onnx/scale.onnx}\nchips: [SM8750]\n"
        repo.recipe(name, f"model: {name}\nlicense: {licence}\n{source}")
    done = repo.doit()
    index = json.loads((repo.root / "build" / "index.json").read_text())

    assert done.code == 0
    assert set(index["chips"]["SM8750"]) == {"closed", "open"}
    assert index["published"] == ["open/SM8750"]


def test_what_can_be_built_is_built_when_one_graph_fails(repo: SmallRepo) -> None:
    repo.model("b", with_erf())
    repo.model("scale", scale_model(size=64))
    recipe = "model: zest\nlicense: MIT\nsource: {file: ../onnx/scale.onnx}\nchips: [SM8750]\n"
    repo.recipe("zest", recipe)
    change_weight(repo, "c")
    done = repo.doit("--continue")
    stale = {row["name"] for row in json.loads(repo.qnnbuild("plan", "--stale", "--json").out)}

    assert done.code == 4
    assert {f"context/three/c@{chip}" for chip in CHIPS} <= set(done.ran)
    assert "bundle/zest@SM8750" in done.ran
    assert stale == {*(f"context/three/b@{chip}" for chip in CHIPS), *BUNDLES}
    assert "gelu/erf" in done.out
    assert repo.left_in_store() == []


def test_a_build_that_stops_at_a_failure_says_what_it_left(repo: SmallRepo) -> None:
    repo.model("b", with_erf())
    done = repo.doit()

    assert done.code == 4
    assert done.summary.startswith("made 3, reused ")
    assert ", failed 1, not built " in done.summary


def test_a_source_that_changes_while_nothing_looks_is_seen(repo: SmallRepo) -> None:
    path = repo.root / "onnx" / "a.onnx"
    then = path.stat()
    change_weight(repo, "a")
    os.utime(path, ns=(then.st_atime_ns, then.st_mtime_ns))
    time.sleep(0.05)

    assert sorted(repo.doit().ran) == sorted(chain("a"))
