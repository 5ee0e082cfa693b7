"""Binaries that were compiled elsewhere, built, verified, and run by hand on the real emulator."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from tests.e2e.small_repo import Done, SmallRepo
from tests.models import tiny_conv, tiny_qdq

pytestmark = pytest.mark.slow(seconds=70)

ELSEWHERE = """
import os, sys
import onnxruntime as ort
import onnxruntime_qnn as plugin

name = "QNNExecutionProvider"
ort.register_execution_provider_library(name, plugin.get_library_path())
devices = [d for d in ort.get_ep_devices() if d.ep_name == name]
kept = []
models = sys.argv[1:]
for model in models:
    options = ort.SessionOptions()
    entries = {"ep.context_enable": "1", "ep.context_file_path": f"{model}_ctx.onnx",
               "ep.context_embed_mode": "0", "session.disable_cpu_ep_fallback": "1"}
    if len(models) > 1:
        entries["ep.share_ep_contexts"] = "1"
        entries |= {"ep.stop_share_ep_contexts": "1"} if model == models[-1] else {}
    for key, value in entries.items():
        options.add_session_config_entry(key, value)
    options.add_provider_for_devices(devices, {"backend_type": "htp", "soc_model": "69"})
    kept.append(ort.InferenceSession(f"{model}.onnx", options))
os._exit(0)
"""
"""What compiles ahead of time without qnnbuild, for the chip SM8750; several share weights."""

HEAD = "license: MIT\nchips: [SM8750]\n"


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    made = SmallRepo.make(tmp_path_factory.mktemp("elsewhere") / "repo")
    (made.root / "qnnbuild.yaml").write_text("")  # all is verified
    (made.root / "bin").mkdir()
    for name, model in (("conv", tiny_conv(8)), ("qdq", tiny_qdq()), ("other", tiny_conv(4))):
        made.model(name, model)
    for binary, models in (("conv", ["conv"]), ("qdq", ["qdq"]), ("shared", ["conv", "other"])):
        folder = tmp_path_factory.mktemp(binary)
        for name in models:
            shutil.copy(made.root / "onnx" / f"{name}.onnx", folder)
        subprocess.run([sys.executable, "-c", ELSEWHERE, *models], cwd=folder, check=True)
        (compiled,) = folder.glob("*.bin")
        shutil.move(compiled, made.root / "bin" / f"{binary}.bin")
    return made


def inside(repo: SmallRepo, binary: str) -> list[str]:
    facts = read_any(repo.root / "bin" / f"{binary}.bin")
    assert isinstance(facts, ContextFacts)
    return [graph.name for graph in facts.graphs]


def recipe(repo: SmallRepo, model: str, source: str, graphs: str) -> None:
    for old in (repo.root / "recipes").glob("*.yaml"):
        old.unlink()
    text = f"model: {model}\n{HEAD}source: {{file: ../bin/{source}.bin}}\ngraphs:\n{graphs}"
    repo.recipe(model, text)


def manifest(repo: SmallRepo, model: str, chip: str = "SM8750") -> dict[str, Any]:
    path = repo.root / "build" / model / chip / "manifest.json"
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def net(keys: str) -> str:
    return f"  net:\n    precision: compiled\n{keys}"


def test_a_wrapped_binary_has_the_numbers_of_the_plugins_own_wrapper(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    original = "{file: ../onnx/conv.onnx}"
    recipe(repo, "conv", "conv", net(f"    compiled: {{graph: {graph}, original: {original}}}\n"))
    repo.recipe("plain", f"model: plain\n{HEAD}source: {original}\ngraphs: {{net: {{}}}}\n")
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    ours, theirs = (manifest(repo, name)["graphs"]["net"] for name in ("conv", "plain"))

    assert ours["verified"]["compared_with"] == "the original"
    assert ours["verified"]["outputs"] == theirs["verified"]["outputs"]
    assert ours["run"] == theirs["run"]
    assert ours["files"] == ["net_ctx.onnx", "net_qnn.bin"]
    assert repo.doit().ran == []


def test_floats_at_a_quantized_border_are_held_against_the_original(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "qdq")
    recipe(repo, "floats", "qdq", net(f"    compiled: {{graph: {graph}, float_io: true}}\n"))
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    made = manifest(repo, "floats")["graphs"]["net"]

    assert [(one["name"], one["dtype"]) for one in (*made["inputs"], *made["outputs"])] == [
        ("x_dq", "float32"),
        ("y_dq", "float32"),
    ]
    assert [node["operator"] for node in made["on_cpu"]] == ["QuantizeLinear", "DequantizeLinear"]
    assert made["run"]["session_options"] == {}
    assert (made["verified"]["compared_with"], made["verified"]["judged"]) == (None, False)
    assert made["verified"]["ran_on"]["nodes"] == {
        "CPUExecutionProvider": 2,
        "QNNExecutionProvider": 1,
    }


def test_quantized_borders_are_compared_by_what_they_mean(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "qdq")
    original = "{file: ../onnx/qdq.onnx}"
    recipe(repo, "quant", "qdq", net(f"    compiled: {{graph: {graph}, original: {original}}}\n"))
    assert repo.doit().code == 0
    verified = manifest(repo, "quant")["graphs"]["net"]["verified"]

    assert verified["outputs"]["y"]["kind"] == "quantized"
    assert verified["outputs"]["y"]["sqnr_db"] > 40


def test_an_embedded_binary_is_one_file(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    recipe(repo, "inside", "conv", net(f"    compiled: {{graph: {graph}}}\n"))
    path = repo.root / "recipes" / "inside.yaml"
    path.write_text(path.read_text() + "context: {embed: true, node_name_prefix: mine_}\n")
    assert repo.doit().code == 0
    facts = read_any(repo.root / "build" / "inside" / "SM8750" / "net_ctx.onnx")
    assert isinstance(facts, CtxOnnxFacts)

    assert manifest(repo, "inside")["graphs"]["net"]["files"] == ["net_ctx.onnx"]
    assert [(node.name, node.partition) for node in facts.nodes] == [(f"mine_{graph}", graph)]


def test_nobody_looks_into_what_was_made_elsewhere(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    recipe(repo, "closed", "conv", net(f"    compiled: {{graph: {graph}}}\n"))
    said = "context/closed/net@SM8750 was made elsewhere: what is inside of it is not known here"

    for command in ("debug", "trace"):
        done = repo.qnnbuild(command, "context/closed/net@SM8750")
        assert done.code != 0
        assert said in done.err


def test_two_graphs_that_share_weights_are_taken_unseen_with_one_binary(repo: SmallRepo) -> None:
    first, second = inside(repo, "shared")
    graphs = "".join(
        f"  {name}:\n    precision: compiled\n    compiled: {{graph: {graph}}}\n"
        for name, graph in (("conv", first), ("other", second))
    )
    recipe(repo, "pair", "shared", graphs)
    seen = repo.doit()
    unseen = graphs.replace(
        "compiled\n    compiled", "compiled\n    verify: {chips: none}\n    compiled"
    )
    recipe(repo, "pair", "shared", unseen)
    done = repo.doit()

    assert seen.code == 5
    assert "the emulator dies of graphs that share weights: verify: {chips: none}" in seen.out
    assert (done.code, done.err) == (0, "")
    made = manifest(repo, "pair")["graphs"]
    assert [made[name]["files"] for name in made] == [
        ["conv_ctx.onnx", "conv_qnn.bin"],
        ["conv_qnn.bin", "other_ctx.onnx"],
    ]
    assert "other_ctx.onnx was not loaded: verify.chips is none" in done.out


def test_a_binary_for_another_chip_is_refused_with_both(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    recipe(repo, "wrong", "conv", net(f"    compiled: {{graph: {graph}}}\n"))
    path = repo.root / "recipes" / "wrong.yaml"
    path.write_text(path.read_text().replace("SM8750", "SM8650"))
    done = repo.doit()

    assert done.code == 2
    assert "the binary is not for SM8650" in done.out
    assert "soc_model: 69, SM8650 is 57" in done.out


def test_damage_and_wrong_names_are_told_where_the_recipe_says_it(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    bins = repo.root / "bin"
    whole = (bins / "conv.bin").read_bytes()
    (bins / "cut.bin").write_bytes(whole[: len(whole) // 2])
    recipe(repo, "cut", "cut", net(""))
    cut = repo.doit()
    recipe(repo, "name", "conv", net(f"    compiled: {{graph: {graph[:-1]}}}\n"))
    name = repo.doit()

    assert (cut.code, name.code) == (2, 2)
    assert "recipes/cut.yaml:4:9: error: the source is no context binary" in cut.out
    assert "cut short: the header promises" in cut.out
    assert f"recipes/name.yaml:8:23: error: the binary has no graph '{graph[:-1]}'" in name.out
    assert f"inside: {graph}" in name.out


def test_the_plugin_takes_the_adapter_that_run_py_is_asked_for(repo: SmallRepo) -> None:
    """Junk for a section is refused by the plugin: so it has read the text and the section."""
    (graph,) = inside(repo, "conv")
    shutil.copy(repo.root / "onnx" / "conv.onnx", repo.root / "bin" / "fr.bin")
    lora = "    lora: {adapters: {french: ../bin/fr.bin}}\n"
    recipe(repo, "lora", "conv", net(f"    compiled: {{graph: {graph}}}\n{lora}"))
    assert repo.doit().code == 0
    folder = repo.root / "build" / "lora" / "SM8750"

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, str(folder / "run.py"), *words]
        return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=300)

    plain, french, none, wrong = (
        run(*words)
        for words in ([], ["--lora", "french"], ["--lora", "none"], ["--lora", "frensh"])
    )
    assert manifest(repo, "lora")["graphs"]["net"]["lora"] == {
        "default": None,
        "adapters": {"french": {"file": "net_lora_french.bin", "config": "net_lora_french.txt"}},
    }
    assert (folder / "net_lora_french.txt").read_text() == f"{graph};net_lora_french.bin\n"
    assert (plain.returncode, none.returncode) == (0, 0)
    assert french.returncode == 4
    assert "Failed to apply binary section" in french.stderr
    assert (wrong.returncode, wrong.stderr) == (3, "run.py: no adapter 'frensh'; there is french\n")


def test_recorded_answers_stand_in_for_an_original(repo: SmallRepo) -> None:
    (graph,) = inside(repo, "conv")
    sample = np.random.default_rng(7).standard_normal((1, 3, 16, 16)).astype(np.float32)
    session = ort.InferenceSession(str(repo.root / "onnx" / "conv.onnx"))
    (scores,) = session.run(["scores"], {"x": sample})
    for folder, arrays in (("inputs", {"x": sample}), ("good", {"scores": scores})):
        (repo.root / folder).mkdir()
        np.savez(repo.root / folder / "a.npz", **arrays)
    (repo.root / "bad").mkdir()
    np.savez(repo.root / "bad" / "a.npz", scores=-scores)

    def built(reference: str) -> Done:
        verify = f"{{inputs: ../inputs/*.npz, reference: ../{reference}/*.npz}}"
        keys = f"    compiled: {{graph: {graph}}}\n    verify: {verify}\n"
        recipe(repo, "recorded", "conv", net(keys))
        return repo.doit()

    good = built("good")
    verified = manifest(repo, "recorded")["graphs"]["net"]["verified"]
    bad = built("bad")

    assert (good.code, bad.code) == (0, 5)
    assert (verified["compared_with"], verified["judged"]) == ("recorded answers", True)
    assert verified["recorded"]["scores"]["sqnr_db"] > 40
    assert "'net' on SM8750 is below its bar: scores: SQNR" in bad.out
    assert "or is of another file than the original" in bad.out
