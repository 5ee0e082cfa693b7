"""Graphs that share their weights in one binary, with the real compiler and the emulator."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from qnnbuild.engine.workers import FIXED_ENV
from tests.e2e.small_repo import Done, SmallRepo

TWO = """\
model: two
license: MIT
chips: [SM8750]
context: {share_weights: graphs}
source: {file: "../onnx/{graph}.onnx"}
graphs: {plain: {verify: {chips: all}}, curved: {verify: {chips: all}}}
"""
THREE = """\
model: three
license: MIT
chips: [SM8550]
context: {share_weights: true}
variants: {rows: [1, 2, 4]}
source: {file: ../onnx/plain.onnx}
graphs: {net: {inputs: {x: {shape: ["{rows}", 64]}}, verify: {chips: all}}}
"""
SCRIPT = """
import onnxruntime, onnxruntime_qnn

name = "QNNExecutionProvider"
onnxruntime.register_execution_provider_library(name, onnxruntime_qnn.get_library_path())
devices = [device for device in onnxruntime.get_ep_devices() if device.ep_name == name]
sessions = []
for graph, more in (("plain", {}), ("curved", {"ep.stop_share_ep_contexts": "1"})):
    options = onnxruntime.SessionOptions()
    entries = {
        "ep.context_enable": "1",
        "ep.context_file_path": f"{graph}_ctx.onnx",
        "ep.context_embed_mode": "0",
        "session.disable_cpu_ep_fallback": "1",
        "ep.share_ep_contexts": "1",
        **more,
    }
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    options.add_provider_for_devices(devices, {"backend_type": "htp", "soc_model": "69"})
    sessions.append(onnxruntime.InferenceSession(f"{graph}/model.onnx", options))
"""


def network(*, curved: bool = False, seed: int = 0, rows: int | str = 1) -> onnx.ModelProto:
    """Two matrices of 128 and 64 columns; networks of one seed have the same weights."""
    chance = np.random.default_rng(seed)
    weights = [
        numpy_helper.from_array(chance.standard_normal(shape).astype(np.float32) / 16, name)
        for name, shape in (("w1", (64, 1024)), ("w2", (1024, 64)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "w1"], ["h"], name="first"),
        helper.make_node("Relu", ["h"], ["r"], name="relu"),
        helper.make_node("MatMul", ["r", "w2"], ["m"], name="second"),
        helper.make_node("Sigmoid" if curved else "Relu", ["m"], ["y"], name="last"),
    ]
    ends = [[helper.make_tensor_value_info(n, TensorProto.FLOAT, [rows, 64])] for n in "xy"]
    graph = helper.make_graph(nodes, "net", ends[0], ends[1], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    made = SmallRepo.make(tmp_path_factory.mktemp("shared"))
    made.model("plain", network(rows="n"))
    made.model("curved", network(curved=True))
    made.recipe("two", TWO.replace("plain: {", "plain: {inputs: {x: {shape: [1, 64]}}, "))
    made.recipe("three", THREE)
    return made


@pytest.fixture(scope="module")
def built(repo: SmallRepo) -> Done:
    return repo.doit()


def manifest(repo: SmallRepo, folder: str) -> Any:
    return json.loads((repo.root / "build" / folder / "manifest.json").read_text())


@pytest.mark.slow(seconds=40)
def test_two_graphs_have_one_binary_that_is_smaller_than_two(repo: SmallRepo, built: Done) -> None:
    assert built.code == 0, built.out

    folder = repo.root / "build/two/SM8750"
    (binary,) = folder.glob("*.bin")
    shared = manifest(repo, "two/SM8750")["graphs"]["curved"]["context"]["shared"]

    assert sorted(path.name for path in folder.glob("*_ctx.onnx")) == [
        "curved_ctx.onnx", "plain_ctx.onnx",
    ]  # fmt: skip
    assert shared["with"] == ["plain"]
    assert shared["bytes"] == binary.stat().st_size
    assert shared["saved_bytes"] == sum(shared["alone_bytes"].values()) - shared["bytes"]
    assert shared["bytes"] < 0.7 * sum(shared["alone_bytes"].values())


@pytest.mark.slow
def test_each_graph_is_verified_apart_and_the_bundle_says_how(repo: SmallRepo, built: Done) -> None:
    graphs = manifest(repo, "two/SM8750")["graphs"]
    card = (repo.root / "build/two/SM8750/README.md").read_text()

    for graph in graphs.values():
        assert (graph["verified"]["on"], graph["verified"]["alone"]) == ("SM8750", True)
        assert graph["verified"]["outputs"]["y"]["sqnr_db"] > 40
        assert len(graph["context"]["graphs_in_binary"]) == 2
    assert "`plain`, `curved` share their weights in `plain_ctx_qnn.bin`:" in card
    assert "each graph was run as compiled alone" in card


@pytest.mark.slow
def test_a_plain_script_with_two_sessions_makes_the_same_bytes(
    repo: SmallRepo, built: Done, tmp_path: Path
) -> None:
    for graph in ("plain", "curved"):
        done = repo.qnnbuild("show", f"convert/two/{graph}+fp16", "--json")
        digest = json.loads(done.out)["record"]["outputs"]["model"]["files"]["model.onnx"][0]
        (stored,) = (repo.root / ".qnnbuild" / "artifacts").rglob(digest)
        (tmp_path / graph).mkdir()
        (tmp_path / graph / "model.onnx").write_bytes(stored.read_bytes())
    subprocess.run([sys.executable, "-c", SCRIPT], cwd=tmp_path, env=FIXED_ENV, check=True)
    ours = repo.files("build/two/SM8750")

    assert {p.name: p.read_bytes() for p in tmp_path.glob("*_ctx*")} == {
        name: data for name, data in ours.items() if "_ctx" in name
    }


@pytest.mark.slow
def test_three_variants_ship_in_one_folder_and_the_index_knows_each(
    repo: SmallRepo, built: Done
) -> None:
    index = json.loads((repo.root / "build/index.json").read_text())
    variants = index["chips"]["SM8550"]["three"]
    told = manifest(repo, "three/SM8550")

    assert {name: one["path"] for name, one in variants.items()} == {
        "1": "three/SM8550", "2": "three/SM8550", "4": "three/SM8550",
    }  # fmt: skip
    assert {name: one["graphs"]["net"]["onnx"] for name, one in variants.items()} == {
        "1": "net-1_ctx.onnx", "2": "net-2_ctx.onnx", "4": "net-4_ctx.onnx",
    }  # fmt: skip
    assert [one["inputs"][0]["shape"] for one in told["graphs"].values()] == [
        [1, 64], [2, 64], [4, 64],
    ]  # fmt: skip
    assert [one["files"] for one in told["graphs"].values()] == [
        sorted([f"net-{rows}_ctx.onnx", "net-1_ctx_qnn.bin"]) for rows in (1, 2, 4)
    ]


@pytest.mark.slow
def test_the_same_context_again_has_the_same_bytes(repo: SmallRepo, built: Done) -> None:
    done = repo.qnnbuild("rebuild", "context/two/plain+curved@SM8750")

    assert done.code == 0, done.out + done.err
    assert "differs" not in done.out


@pytest.mark.slow
def test_a_changed_weight_of_one_graph_builds_one_context_again(
    repo: SmallRepo, built: Done, tmp_path: Path
) -> None:
    copy = repo.copy(tmp_path / "copy", QNNBUILD_STORE=str(tmp_path / "store"))
    copy.recipe("three", THREE.replace("three", "own").replace("plain", "own"))
    copy.model("own", network(rows="n"))
    mode = "{ort: {htp_graph_finalization_optimization_mode: 3}}"
    own_mode = TWO.replace("curved: {", f"curved: {{options: {mode}, ")
    copy.recipe("two", own_mode.replace("plain: {", "plain: {inputs: {x: {shape: [1, 64]}}, "))
    first = copy.doit()
    copy.model("curved", network(curved=True, seed=1))
    second = copy.doit()

    assert first.code == 0, first.out
    assert [name for name in second.ran if name.startswith("context")] == [
        "context/two/plain+curved@SM8750"
    ]
    assert "verify/two/curved@SM8750" in second.ran
    assert "sharing weights saves " in second.out + second.err


@pytest.mark.slow
def test_what_is_wrong_with_one_graph_is_told_of_it(repo: SmallRepo, tmp_path: Path) -> None:
    other = SmallRepo.make(tmp_path / "bad")
    other.model("plain", network())
    bad = network(curved=True)
    bad.graph.node[-1].op_type = "Erf"
    other.model("curved", bad)
    other.recipe("two", TWO)
    done = other.doit()

    assert done.code != 0
    assert "recipes/two.yaml:6:" in done.out + done.err
    assert "curved: " in done.out + done.err


@pytest.mark.slow
def test_one_graph_of_a_shared_binary_is_traced_and_its_layers_are_looked_at(
    repo: SmallRepo, built: Done
) -> None:
    assert built.code == 0, built.out
    one = "verify/two/curved@SM8750"

    traced = repo.qnnbuild("trace", one)
    looked = repo.qnnbuild("debug", one, "--json")

    assert traced.code == looked.code == 0, traced.err + looked.err
    assert "ElementWiseNeuron" in traced.out or "Sigmoid" in traced.out
    layers = json.loads(looked.out)
    assert layers["name"] == "debug/two/curved@SM8750"
    assert layers["shipped"].keys() == {"y"}
