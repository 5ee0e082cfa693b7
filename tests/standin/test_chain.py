"""The whole way, from ONNX to outputs, with real bytes on it."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.formats.context_binary import read_context_binary
from tests.standin.lay_out import NEW, OLD, missing_programs
from tests.standin.running import REFERENCE, Sdk, configured, htp, sdk


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
