"""Lists of samples and files of encodings, as the converters read them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.standin.running import SAMPLE, Sdk, save_model

LEGACY = {"version": "0.6.1", "activation_encodings": {}, "param_encodings": {}}


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"none.raw\n", "Unable to open input raw file: 'none.raw'"),
        (b"x.raw\r\n", "Unable to open input raw file: 'x.raw\\r'"),
        (b"\xef\xbb\xbfx.raw\n", "Unable to open input raw file: '\\ufeffx.raw'"),
        (b"x.raw x.raw\n", "Number of files in input list line (2)"),
        (b"x.raw \n", "Number of files in input list line (2)"),
        (b"z:=x.raw\n", "Input 'z' of the input list is not an input"),
        (b"short.raw\n", "Size of raw file short.raw is 188 bytes, input x needs 192"),
        (b"", "No inputs in input list file"),
    ],
)
def test_a_list_is_read_byte_for_byte(tools: Sdk, data, text):
    (tools.cwd / "short.raw").write_bytes(SAMPLE.tobytes()[:-4])
    (tools.cwd / "bad.txt").write_bytes(data)

    done = tools.convert("--input_list", "bad.txt")

    assert done.rc == 1
    assert text in done.out


@pytest.mark.parametrize("text", ["x.raw", "x.raw\nx:=x.raw\n", "#y\nx.raw\n\nx.raw\n"])
def test_forms_that_are_accepted_or_not_certain_pass(tools: Sdk, text):
    (tools.cwd / "good.txt").write_text(text)

    assert tools.convert("--input_list", "good.txt").rc == 0


def test_paths_are_relative_to_the_cwd_and_not_to_the_list(tools: Sdk):
    (tools.cwd / "lists").mkdir(exist_ok=True)
    (tools.cwd / "lists/here.raw").write_bytes(SAMPLE.tobytes())
    (tools.cwd / "lists/list.txt").write_text("here.raw\n")

    assert tools.convert("--input_list", "lists/list.txt").rc == 1


def test_files_go_to_the_inputs_in_their_order_or_by_name(tools: Sdk):
    save_model(tools.cwd / "two.onnx", weights=False)
    np.zeros((8, 4), np.float32).tofile(tools.cwd / "w.raw")
    results = []
    for line in ("x.raw w.raw", "w:=w.raw x:=x.raw", "w.raw x.raw"):
        (tools.cwd / "two.txt").write_text(line + "\n")
        results.append(tools.convert("--input_list", "two.txt", model="two.onnx").rc)

    assert results == [0, 0, 1]


def test_without_native_files_every_input_is_float32(tools: Sdk):
    SAMPLE.astype(np.float16).tofile(tools.cwd / "half.raw")
    (tools.cwd / "half.txt").write_text("half.raw\n")
    words = ("--input_list", "half.txt", "--input_dtype", "x", "float16")

    assert tools.convert(*words).rc == 1
    assert tools.convert(*words, "--use_native_input_files").rc == 0


@pytest.mark.parametrize("version", ["0.6.1", "1.0.0"])
def test_encodings_of_both_forms_override_and_unknown_names_are_ignored(tools: Sdk, version):
    entry = {"scale": 0.5, "offset": -3}
    if version == "1.0.0":
        named = [{"name": n, "dtype": "INT", "bw": 8, "scale": [0.5], "offset": [-3]} for n in "xq"]
        data = {**LEGACY, "version": version, "activation_encodings": named}
    else:
        named = {n: [{"bitwidth": 8, "dtype": "int", **entry}] for n in "xq"}  # type: ignore[assignment]  # the two forms differ
        data = {**LEGACY, "activation_encodings": named}
    (tools.cwd / "e.json").write_text(json.dumps(data))

    done = tools.convert("--quantization_overrides", "e.json")

    assert done.rc == 0
    net = json.loads((tools.cwd / "out/m_net.json").read_text())
    params = {name: t["quant_params"] for name, t in net["graph"]["tensors"].items()}
    assert params["x"]["is_overridden"]
    assert (params["x"]["scale_offset"]["scale"], params["x"]["scale_offset"]["offset"]) == (
        0.5,
        -3,
    )
    assert params["y"]["definition"] == 2147483647  # alone, they quantise only what they name


def test_an_encoding_that_is_no_list_is_refused(tools: Sdk):
    data = {**LEGACY, "activation_encodings": {"x": {"bitwidth": 8, "min": 0, "max": 1}}}
    (tools.cwd / "e.json").write_text(json.dumps(data))

    done = tools.convert("--quantization_overrides", "e.json")

    assert done.rc == 1
    assert "Encodings of x in e.json must be a list" in done.out
