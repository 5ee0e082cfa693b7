"""qnn-net-run: which models and inputs it takes, and what it writes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.standin.lay_out import HOST, NEW, lay_out
from tests.standin.running import REFERENCE, SAMPLE, Sdk, configured, htp, save_model

MODEL = ("--model", f"libs/{HOST}/libm.so")
BACKEND = ("--backend", "libQnnHtp.so")
LIST = ("--input_list", "list.txt")


def net_run(where: Sdk, *argv: object):
    return where.call("qnn-net-run", *argv)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ((*BACKEND, *LIST), "Exactly one of --model and --retrieve_context"),
        ((*MODEL, "--retrieve_context", "m.bin", *BACKEND, *LIST), "Exactly one of --model"),
        ((*MODEL, *BACKEND), "Missing option: --input_list"),
        ((*MODEL, *LIST), "Missing option: --backend"),
        (
            (*MODEL, *BACKEND, *LIST, "--use_native_input_files", "--native_input_tensor_names=x"),
            "exclude each other",
        ),
        (
            (
                *(*MODEL, *BACKEND, *LIST, "--max_input_cache_tensor_sets=1"),
                "--max_input_cache_size_mb=1",
            ),
            "exclude each other",
        ),
        (
            ("--retrieve_context", "m.bin", *BACKEND, *LIST, "--debug"),
            "--debug cannot be used with --retrieve_context",
        ),
        ((*MODEL, *BACKEND, "--input_list", "none.txt"), "Cannot open input list file: none.txt"),
        ((*MODEL, *BACKEND, "--input_list=list.txt,list.txt"), "1 graphs need 1 input lists"),
        ((*MODEL, *BACKEND, *LIST, "--perf_profile", "fast"), "Invalid value for --perf_profile"),
        ((*MODEL, "--backend", "none.so", *LIST), "Unable to load backend"),
        (("--model=none.so", *BACKEND, *LIST), "Initialization failure"),
        (("--retrieve_context=m.onnx", *BACKEND, *LIST), "Create From Binary failure"),
    ],
)
def test_what_the_facts_refuse_is_refused(built: Sdk, words, text):
    done = net_run(built, *words)

    assert (done.rc, text in done.err) == (1, True)


def test_unknown_arguments_end_it(built: Sdk):
    done = net_run(built, *MODEL, *BACKEND, *LIST, "--no_such")

    assert (done.rc, "Unused Arguments --no_such" in done.out) == (1, True)


def test_a_context_of_a_newer_sdk_is_refused(built: Sdk, tmp_path):
    newer = built._replace(root=lay_out(tmp_path, NEW))
    assert newer.generate("--binary_file", "newer").rc == 0

    done = net_run(built, "--retrieve_context", "ctx/newer.bin", *BACKEND, *LIST)

    assert (done.rc, done.err) == (1, "Create From Binary failure\n")


def test_native_files_have_the_graphs_own_types(built: Sdk):
    scale, offset = scale_and_offset(built, "graphInputs")
    native = np.rint(SAMPLE / scale) - offset
    native.astype(np.uint16).tofile(built.cwd / "native.raw")
    (built.cwd / "native.txt").write_text("native.raw\n")
    words = (*MODEL, *BACKEND, "--input_list", "native.txt", "--output_dir", "native")

    refused = net_run(built, *words)
    done = net_run(built, *words, "--use_native_input_files=true", "--use_native_output_files")

    assert (refused.rc, "Size of raw file native.raw" in refused.err) == (1, True)
    assert done.rc == 0
    scale, offset = scale_and_offset(built, "graphOutputs")
    raw = np.fromfile(built.cwd / "native/Result_0/y_native.raw", np.uint16)
    made = (raw.astype(np.float64) + offset) * scale
    assert np.abs(made.reshape(1, 6, 4) - REFERENCE).max() < 0.001


def test_a_raw_file_may_hold_several_batches(built: Sdk):
    np.concatenate([SAMPLE, SAMPLE]).tofile(built.cwd / "x2.raw")
    (built.cwd / "batch.txt").write_text("x2.raw\n")

    words = ("--input_list", "batch.txt", "--output_dir", "batch")
    assert net_run(built, *MODEL, *BACKEND, *words).rc == 0

    made = np.fromfile(built.cwd / "batch/Result_0/y.raw", np.float32).reshape(2, 6, 4)
    assert np.abs(made - REFERENCE).max() < 0.001


def test_several_graphs_have_a_folder_each_and_can_be_left_out(built: Sdk):
    save_model(built.cwd / "two.onnx")
    assert built.convert("--preserve_io", model="two.onnx", output="out/two.cpp").rc == 0
    assert built.library("two").rc == 0
    both = f"libs/{HOST}/libm.so,libs/{HOST}/libtwo.so"
    assert built.generate("--binary_file", "both", model=both).rc == 0
    words = ("--retrieve_context", "ctx/both.bin", *BACKEND, "--output_dir", "both")

    assert net_run(built, *words, "--input_list", "__,list.txt").rc == 0

    assert sorted(path.name for path in (built.cwd / "both").iterdir() if path.is_dir()) == ["two"]
    made = np.fromfile(built.cwd / "both/two/Result_0/y.raw", np.float32)
    assert made.tobytes() == REFERENCE.tobytes()  # of floats, to the bit


def test_a_host_dies_of_shared_weights(built: Sdk):
    save_model(built.cwd / "too.onnx")
    assert built.convert("--preserve_io", model="too.onnx", output="out/too.cpp").rc == 0
    assert built.library("too").rc == 0
    both = f"libs/{HOST}/libm.so,libs/{HOST}/libtoo.so"
    shared = htp(["m", "too"]) | {"context": {"weight_sharing_enabled": True}}
    config = configured(built, shared, name="shared.json")
    assert built.generate("--binary_file", "shared", "--config_file", config, model=both).rc == 0
    words = ("--retrieve_context", "ctx/shared.bin", "--backend", "libQnnHtp.so")

    done = built.run("qnn-net-run", *words, "--input_list", "list.txt,list.txt")

    assert done.rc == -11


def test_its_version_is_two_lines(built: Sdk):
    lines = net_run(built, "--version").out.splitlines()

    assert lines[0].startswith("qnn-net-run pid:")
    assert lines[1:] == ["QNN SDK v2.40.0.251030114326_189385"]


def scale_and_offset(where: Sdk, place: str) -> tuple[float, int]:
    assert where.generate("--binary_file", "scales").rc == 0
    tensor = where.read_back("ctx/scales.bin")["graphs"][0]["info"][place][0]["info"]
    found = tensor["quantizeParams"]["scaleOffset"]
    return found["scale"], found["offset"]
