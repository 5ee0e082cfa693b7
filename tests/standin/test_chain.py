"""The whole way, from ONNX to outputs, with real bytes on it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from qnnbuild.formats.context_binary import read_context_binary
from tests.standin.lay_out import NEW, OLD, missing_programs
from tests.standin.running import REFERENCE, SAMPLE, Sdk, configured, htp, sdk


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_quantised_model_comes_back_as_it_was_asked_for_in_both_versions(tmp_path, version):
    if missing := missing_programs():
        pytest.skip(f"model libraries are really compiled; not on this machine: {missing}")
    tools = sdk(tmp_path, version)
    assert tools.convert("--input_list", "list.txt", "--act_bitwidth", 16).rc == 0
    assert tools.library().rc == 0
    outer = configured(tools, htp())
    assert tools.generate("--binary_file", "m", f"--config_file={outer}").rc == 0

    info = tools.read_back()

    assert tools.settings() == (79, 3, 8, 4)
    assert info["socModel"] == 69
    assert info["buildId"].startswith("v" + version)
    assert info["contextBlobVersion"] == {OLD: "3.3.4", NEW: "4.0.0"}[version]
    assert [graph["info"]["graphName"] for graph in info["graphs"]] == ["m"]


def test_the_reader_of_real_context_binaries_reads_these_too(built):
    outer = configured(built, htp())
    assert built.generate("--binary_file", "read", "--config_file", outer).rc == 0

    facts = read_context_binary(memoryview((built.cwd / "ctx/read.bin").read_bytes()))

    assert facts.sdk_build == "v2.40.0.251030114326"
    assert (facts.arch, facts.vtcm_mb, facts.hvx_threads) == (79, 8, 4)
    assert (facts.soc_type, facts.settings["O"]) == ("SM8750", "3")
    assert [tensor.dtype for tensor in facts.graphs[0].inputs] == ["uint16"]


@pytest.mark.parametrize("source", ["library", "context"])
def test_net_run_computes_the_models_own_outputs(built: Sdk, source):
    assert built.generate("--binary_file", "run").rc == 0
    model = {"library": ("--model", "libs/x86_64-linux-clang/libm.so")}
    named = model.get(source, ("--retrieve_context", "ctx/run.bin"))
    words = (*named, "--backend=libQnnHtp.so", "--input_list", "x2.txt", "--output_dir", source)
    (built.cwd / "x2.txt").write_text("x.raw\nx:=x.raw\n")

    done = built.run("qnn-net-run", *words)

    assert (done.rc, done.out.splitlines()[-1]) == (0, "Finished Executing Graphs")
    for number in (0, 1):
        made = np.fromfile(built.cwd / source / f"Result_{number}" / "y.raw", np.float32)
        assert np.abs(made.reshape(1, 6, 4) - REFERENCE).max() < 0.001
    assert (built.cwd / source / "execution_metadata.yaml").exists()


def test_the_published_command_lines_of_a_speech_model_pass_word_for_word(tmp_path):
    if missing := missing_programs():
        pytest.skip(f"model libraries are really compiled; not on this machine: {missing}")
    tools = sdk(tmp_path)
    speech_model(tools.cwd / "model-5-seconds.onnx")
    SAMPLE.tofile(tools.cwd / "zh-input0.raw")
    np.arange(4, dtype=np.int32).tofile(tools.cwd / "zh-input1.raw")
    (tools.cwd / "input_list.txt").write_text("zh-input0.raw zh-input1.raw\n")
    stem = "model-5-seconds-quantized"
    words = (
        f"--input_network model-5-seconds.onnx --output_path ./{stem} --out_node logits "
        "--input_list ./input_list.txt --use_native_input_files --input_dtype x float32 "
        "--input_dtype prompt int32 --act_bitwidth 16 --bias_bitwidth 32 --input_layout x NTF"
    )
    assert tools.call("qnn-onnx-converter", *words.split()).rc == 0
    (tools.cwd / stem).rename(tools.cwd / f"{stem}.cpp")
    words = f"-c {stem}.cpp -b {stem}.bin -o model_libs"
    assert tools.call("qnn-model-lib-generator", *words.split()).rc == 0
    config = htp(["model_5_seconds_quantized"])
    config["devices"] = [{"soc_id": 69, "dsp_arch": "v79"}]
    outer = configured(tools, config)
    library = f"./model_libs/x86_64-linux-clang/lib{stem}.so"
    done = tools.generate("--binary_file", stem, "--config_file", outer, model=library)
    assert done.rc == 0

    net = json.loads((tools.cwd / f"{stem}_net.json").read_text())["graph"]["tensors"]
    kinds = {name: (t["type"], t["data_type"]) for name, t in net.items() if t["type"] != 4}
    assert kinds == {"x": (0, 1046), "prompt": (0, 50), "logits": (1, 1046)}
    assert tools.settings(f"ctx/{stem}.bin") == (79, 3, 8, 4)
    assert (tools.cwd / f"model_libs/aarch64-android/lib{stem}.so").is_file()


def speech_model(path: Path) -> None:
    value = helper.make_tensor_value_info
    table = onnx.numpy_helper.from_array(np.eye(8, dtype=np.float32), "table")
    nodes = [
        helper.make_node("Gather", ["table", "prompt"], ["asked"], name="embed"),
        helper.make_node("ReduceSum", ["asked"], ["bias"], keepdims=0),
        helper.make_node("Add", ["x", "bias"], ["logits"], name="add"),
    ]
    inputs = [value("x", TensorProto.FLOAT, [1, 6, 8]), value("prompt", TensorProto.INT32, [4])]
    outputs = [value("logits", TensorProto.FLOAT, [1, 6, 8]), value("bias", TensorProto.FLOAT, [])]
    graph = helper.make_graph(nodes, "speech", inputs, outputs, [table])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, path)
