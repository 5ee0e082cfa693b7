"""qnn-context-binary-generator and -utility: what they accept, refuse, write and fail with."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.standin import context_cases
from tests.standin.lay_out import HOST, NEW, lay_out, turn
from tests.standin.running import Sdk, configured, htp, save_model


def test_both_forms_of_arguments_are_taken_and_one_file_is_written(built: Sdk):
    done = built.generate("--binary_file=forms", "--log_level", "error", "--output_dir=forms")

    assert done.rc == 0
    assert done.out.startswith("qnn-context-binary-generator pid:")
    assert [path.name for path in (built.cwd / "forms").iterdir()] == ["forms.bin"]


@pytest.mark.parametrize("name", ["x.serialized", "x.bin", "{cwd}/far/x"])
def test_bin_is_always_appended_and_an_absolute_name_is_honoured(built: Sdk, name):
    name = name.format(cwd=built.cwd)

    assert built.generate("--binary_file", name).rc == 0
    assert (built.cwd / "ctx" / f"{name}.bin").is_file()


@pytest.mark.parametrize("word", ["--htp_arch v73", "--soc_model 69", "--binary_file", "stray"])
def test_unknown_arguments_end_it(built: Sdk, word):
    done = built.generate(*word.split())

    assert done.rc == 1
    assert f"Unused Arguments {word}" in done.out


@pytest.mark.parametrize("name", ["backend", "model"])
def test_backend_and_model_must_be_given(built: Sdk, name):
    words = {
        "backend": ("--backend", "libQnnHtp.so"),
        "model": ("--model", f"libs/{HOST}/libm.so"),
    }
    del words[name]

    done = built.call("qnn-context-binary-generator", *(w for pair in words.values() for w in pair))

    assert (done.rc, f"--{name}" in done.err) == (1, True)


@pytest.mark.parametrize("model", ["none.so", "m.onnx", "ids.so"])
def test_a_library_that_cannot_be_opened_is_an_initialization_failure(built: Sdk, model):
    other = bytearray((built.cwd / f"libs/{HOST}/libm.so").read_bytes())
    other[18] = 183  # of another machine
    (built.cwd / "ids.so").write_bytes(other)

    done = built.generate("--binary_file", "no", model=model)

    assert done.rc == 1
    assert done.err == "Initialization failure\n"
    assert not (built.cwd / "ctx/no.bin").exists()


def test_another_prefix_than_the_librarys_is_not_found(built: Sdk):
    assert built.generate("--model_prefix", "Other").err == "Initialization failure\n"


def test_a_trailing_comma_in_the_list_of_models_is_tolerated(built: Sdk):
    assert built.generate("--binary_file", "comma", model=f"libs/{HOST}/libm.so,").rc == 0


def test_the_same_graph_twice_is_refused(built: Sdk):
    library = f"libs/{HOST}/libm.so"

    done = built.generate("--binary_file", "twice", model=f"{library},{library}")

    assert done.rc == 1
    assert "Graph m exists already in the context" in done.out


def test_a_library_of_a_newer_sdk_fails_and_one_of_an_older_passes(built: Sdk, tmp_path):
    newer = built._replace(root=lay_out(tmp_path, NEW))
    (built.cwd / "new").mkdir()
    assert newer.convert(output="new/m.cpp").rc == 0
    words = ("-c", "new/m.cpp", "-b", "new/m.bin", "-o", "new", "-t", HOST)
    assert newer.call("qnn-model-lib-generator", *words).rc == 0

    refused = built.generate("--binary_file", "new", model=f"new/{HOST}/libm.so")
    taken = newer.generate("--binary_file", "old")

    assert refused.rc == 1
    assert "[ ERROR ] OpConfig validation failed for MatMul" in refused.out
    assert taken.rc == 0


@pytest.mark.parametrize(("name", "lines"), context_cases.FAILURES)
def test_failures_of_the_compiler_have_their_known_lines(built: Sdk, tools: Sdk, name, lines):
    value = 1 if name == "context_limit_kb" else "finalize"
    turn(tools.root, name, value)

    done = built.generate("--binary_file", "failed")

    assert (done.rc, done.err) == (1, "Graph Finalize failure\n")
    assert [line for line in lines if line not in done.out] == []
    assert not (built.cwd / "ctx/failed.bin").exists()


def test_a_segmentation_fault_is_a_signal(built: Sdk, tools: Sdk):
    turn(tools.root, "qnn-context-binary-generator", "segfault")
    words = ("--backend=libQnnHtp.so", "--model", f"libs/{HOST}/libm.so", "--binary_file", "m")

    assert built.run("qnn-context-binary-generator", *words).rc == -11


@pytest.mark.parametrize(("change", "text"), context_cases.BAD_CONFIGS)
def test_wrong_words_and_types_in_known_keys_fail(built: Sdk, change, text):
    config = {**htp(), **change}

    done = built.generate("--binary_file", "bad", "--config_file", configured(built, config))

    assert (done.rc, text in done.err) == (1, True)


@pytest.mark.parametrize(
    ("outer", "text"),
    [
        (None, "Unable to parse config file outer.json"),
        ("no json", "Unable to parse config file outer.json"),
        ({"shared_library_path": "none.so", "config_file_path": "h"}, "Unable to load backend ext"),
        (
            {"shared_library_path": "libQnnHtp.so", "config_file_path": "none.json"},
            "Unable to parse config file none.json",
        ),
    ],
)
def test_files_that_the_config_names_must_be_there(built: Sdk, outer, text):
    path = built.cwd / "outer.json"
    path.unlink(missing_ok=True)
    if outer is not None:
        wrapped = json.dumps({"backend_extensions": outer})
        path.write_text(outer if isinstance(outer, str) else wrapped)

    done = built.generate("--binary_file", "bad", "--config_file", "outer.json")

    assert (done.rc, text in done.err) == (1, True)


def test_a_bad_key_of_the_outer_file_is_told_and_the_run_goes_on(built: Sdk):
    config = {"graph_configs": [{"graph_name": "m", "graph_prio": "low"}]}
    (built.cwd / "outer.json").write_text(json.dumps(config))

    done = built.generate("--binary_file", "told", "--config_file", "outer.json")

    assert done.rc == 0
    assert "[ ERROR ] Invalid key: graph_configs/0/graph_prio" in done.out


def test_shared_weights_are_stored_once(built: Sdk):
    save_model(built.cwd / "two.onnx")
    assert built.convert(model="two.onnx", output="out/two.cpp").rc == 0
    assert built.library("two").rc == 0
    both = f"libs/{HOST}/libm.so,libs/{HOST}/libtwo.so"
    sizes = {}
    for share in (False, True):
        config = {**htp(["m", "two"]), "context": {"weight_sharing_enabled": share}}
        outer = configured(built, config)
        words = ("--binary_file", f"two{share}", "--config_file", outer)
        assert built.generate(*words, model=both).rc == 0
        sizes[share] = (built.cwd / f"ctx/two{share}.bin").stat().st_size

    graphs = built.read_back("ctx/twoTrue.bin")["graphs"]

    assert sizes[False] - sizes[True] > 10_000 - 500
    assert [graph["info"]["graphName"] for graph in graphs] == ["m", "two"]
    assert all(graph["info"]["graphBlobInfoV2"]["sharedWeightsSize"] for graph in graphs)


def test_the_utility_needs_both_flags_and_a_binary_of_its_own_version(built: Sdk, tmp_path):
    newer = built._replace(root=lay_out(tmp_path, NEW))
    assert newer.generate("--binary_file", "newer").rc == 0
    for words in (["--context_binary", "ctx/newer.bin"], ["--json_file", "u.json"], ["--nothing"]):
        assert built.call("qnn-context-binary-utility", *words).rc == 1
    for name in ("ctx/newer.bin", "m.onnx", "none.bin"):
        words = ["--context_binary", name, "--json_file=u.json"]
        done = built.call("qnn-context-binary-utility", *words)

        assert (done.rc, done.err) == (1, "Error: Failed to get context binary info.\n")
    assert not (built.cwd / "u.json").exists()


def test_the_utilitys_doubtful_keys_can_be_spelled_the_other_way(built: Sdk, tools: Sdk):
    assert built.generate("--binary_file", "m").rc == 0
    turn(tools.root, "utility_keys", "other")

    info = built.read_back()

    graph = info["graphs"][0]["info"]
    assert info["contextMetadata"]["info"] == {"dspArch": 68, "socModel": 0}
    assert info["coreApiVersion"] == {"major": 2, "minor": 29, "patch": 0}
    assert graph["graphBlobInfo"][0]["info"]["vtcmSize"] == 4
    assert graph["graphInputs"][0]["info"]["currentDimensions"] == [1, 6, 8]


def test_a_binary_that_is_cut_short_is_not_read(built: Sdk):
    assert built.generate("--binary_file", "whole").rc == 0
    data = (built.cwd / "ctx/whole.bin").read_bytes()
    (built.cwd / "cut.bin").write_bytes(data[:-100])
    words = ["--context_binary", "cut.bin", "--json_file=u.json"]

    assert built.call("qnn-context-binary-utility", *words).rc == 1


def test_profiling_writes_its_files_where_the_real_one_does(built: Sdk):
    shutil.rmtree(built.cwd / "ctx", ignore_errors=True)
    words = ("--profiling_level", "detailed", "--profiling_option=optrace", "--binary_file", "p")

    assert built.generate(*words).rc == 0
    assert sorted(p.name for p in (built.cwd / "ctx").iterdir()) == [
        "p.bin",
        "qnn-profiling-data_0.log",
    ]
    assert (built.cwd / "p_schematic.bin").exists()


def test_words_that_are_not_known_are_refused(built: Sdk):
    assert built.generate("--log_level", "loud").rc == 1
    words = ("--enable_intermediate_outputs", "--set_output_tensors", "m:y")
    assert "exclude each other" in built.generate(*words).err
