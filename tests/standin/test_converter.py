"""qnn-onnx-converter: what it accepts, refuses and writes."""

from __future__ import annotations

import json
import tarfile

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests import libraries
from tests.standin.lay_out import NEW, OLD, turn
from tests.standin.packages import DEFINITION
from tests.standin.running import Sdk, save_model, sdk

ACCEPTED = [
    "",
    "--act_bitwidth 16 --bias_bitwidth 32",
    "--float_bitwidth 16 --act_bitwidth 16 --bias_bitwidth 32",
    "--input_list list.txt --use_native_input_files --input_dtype x float32 --input_layout x NTF",
    "--input_list list.txt --act_bitwidth 8 --weights_bitwidth 4 --bias_bitwidth 8",
    "--act_bw 16 --weight_bw 8 --bias_bw 32 --float_bw 32",
    "-d x 1,6,8 -t x default -l x NFC -e x rgb bgr -b 1 -s n 3 -n",
    "--out_node y",
    "--out_name mid --out_name y",
    "--preserve_io",
    "--preserve_io layout x --preserve_io datatype x y",
    "--param_quantizer tf --act_quantizer enhanced --algorithms cle",
    "--param_quantizer_calibration sqnr --act_quantizer_schema unsignedsymmetric",
    "--percentile_calibration_value 99.9 --act_quantizer_calibration percentile",
    "--use_per_channel_quantization --use_per_row_quantization --float_bias_bitwidth 32",
    "--restrict_quantization_steps=-0x80/0x7F --apply_masked_softmax compressed",
    "--overwrite_model_prefix --exclude_named_tensors --debug 3 --export_format cpp",
    "-p package --op_package_lib lib.so:provider --converter_op_package_lib a.so,b.so",
    "--input_li list.txt",  # argparse takes a prefix
]
REFUSED = [
    ("--no_such_flag", 2, "unrecognized arguments: --no_such_flag"),
    ("--soc_model 69", 2, "unrecognized arguments: --soc_model"),
    ("--act_bitwidth 12", 2, "invalid choice: 12"),
    ("--input_layout x NTC", 2, "invalid choice: 'NTC'"),
    ("--input_dtype x float8", 2, "invalid choice: 'float8'"),
    ("--input_dtype x", 2, "expected 2 arguments"),
    ("--preserve_io shape", 2, "invalid choice: 'shape'"),
    ("--algorithms bc", 2, "invalid choice: 'bc'"),
    ("--percentile_calibration_value 50", 2, "not from 90 to 100"),
    ("-p a -opc b.xml", 2, "not allowed with argument"),
    ("--ignore_encodings --quantization_overrides e.json", 1, "cannot be used with"),
    ("--float_fallback --input_list list.txt", 1, "cannot be used with --input_list"),
    ("--input_dim z 1,2", 1, "Input name z is not an input"),
    ("--input_dtype z int32", 1, "Input name z is not an input"),
    ("--out_node nothing", 1, "Output node nothing is not in the model"),
    ("--input_list none.txt", 1, "Cannot open input list file: none.txt"),
    ("--quantization_overrides none.json", 1, "Cannot read quantization overrides none.json"),
]


@pytest.mark.parametrize("words", ACCEPTED)
def test_documented_flags_are_accepted(tools: Sdk, words):
    done = tools.convert(*words.split())

    assert (done.rc, done.err) == (0, "")
    assert done.out.splitlines()[-1].endswith("- INFO - Conversion complete!")


@pytest.mark.parametrize(("words", "rc", "text"), REFUSED)
def test_what_the_facts_refuse_is_refused_and_writes_nothing(tools: Sdk, words, rc, text):
    done = tools.convert(*words.split(), output="refused/m.cpp")

    assert done.rc == rc
    assert text in done.out + done.err
    assert "Conversion complete!" not in done.out
    assert not (tools.cwd / "refused").exists()


def test_the_input_network_is_the_only_flag_that_must_be_given(tools: Sdk):
    none = tools.call("qnn-onnx-converter", "-o", "m.cpp")
    alone = tools.call("qnn-onnx-converter", "-i", "m.onnx")

    assert none.rc == 2
    assert "the following arguments are required: -i/--input_network" in none.err
    assert alone.rc == 0
    assert [(tools.cwd / name).exists() for name in ("m.cpp", "m.bin", "m_net.json")] == [True] * 3


def test_a_model_that_is_not_there_or_not_whole_is_refused(tools: Sdk):
    (tools.cwd / "broken.onnx").write_bytes(b"no model")

    assert "ERROR - Model file not found" in tools.convert(model="none.onnx").out
    assert "Failed to load ONNX model" in tools.convert(model="broken.onnx").out


def test_a_dynamic_shape_needs_to_be_given(tools: Sdk):
    save_model(tools.cwd / "dynamic.onnx", shape=(1, "n", 8))

    assert "dimension 1 of input x is n" in tools.convert(model="dynamic.onnx").out
    for words in (["-d", "x", "1,6,8"], ["-s", "n", "6"]):
        assert tools.convert(*words, model="dynamic.onnx").rc == 0


def test_the_output_path_is_taken_verbatim(tools: Sdk):
    assert tools.convert(output="deep/er/Encoder-10-seconds").rc == 0

    folder = tools.cwd / "deep" / "er"
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["Encoder-10-seconds", "Encoder-10-seconds.bin", "Encoder-10-seconds_net.json"]
    assert '"encoder_10_seconds"' in (folder / "Encoder-10-seconds").read_text()


def test_the_weights_are_a_tar_of_raw_files(tools: Sdk):
    assert tools.convert().rc == 0

    with tarfile.open(tools.cwd / "out/m.bin") as tar:
        assert [(member.name, member.size) for member in tar] == [("w.raw", 128)]


def test_a_model_without_weights_gets_no_bin(tools: Sdk):
    save_model(tools.cwd / "bare.onnx", weights=False)

    done = tools.convert(model="bare.onnx", output="bare/m.cpp")

    assert done.rc == 0
    assert "Model BIN saved" not in done.out
    assert not (tools.cwd / "bare/m.bin").exists()
    assert json.loads((tools.cwd / "bare/m_net.json").read_text())["model.bin"] == "NA"


def test_the_source_holds_the_command_with_its_paths_and_the_version(tools: Sdk):
    path = tools.cwd / "out" / "m.cpp"
    assert tools.convert("--overwrite_model_prefix", output=str(path)).rc == 0

    text = path.read_text()

    assert f"output_path={path}; " in text
    assert 'QNN_SDK_VERSION = "qaisw-v2.40.0.251030114326_189385"' in text
    assert "ModelError_t m_composeGraphs(" in text
    assert '"_layer_0_MatMul"' in text


def test_the_graph_as_json_says_what_goes_in_and_out(tools: Sdk):
    assert tools.convert("--input_list", "list.txt", "--act_bitwidth", 16).rc == 0

    net = json.loads((tools.cwd / "out/m_net.json").read_text())

    tensors = net["graph"]["tensors"]
    assert {name: (t["type"], t["data_type"]) for name, t in tensors.items()} == {
        "x": (0, 1046),
        "y": (1, 1046),
        "w": (4, 562),
    }
    assert (tensors["x"]["dims"], tensors["x"]["permute_order_to_src"]) == ([1, 8, 6], [0, 2, 1])
    assert tensors["x"]["quant_params"]["scale_offset"]["bitwidth"] == 16
    assert tensors["x"]["quant_params"]["scale_offset"]["minimum"] == pytest.approx(-2, abs=1e-3)
    assert net["converter_command"].startswith("qnn-onnx-converter; act_bitwidth=16; ")
    assert set(net["graph"]["nodes"]) == {"_layer_0_MatMul", "relu"}


@pytest.mark.parametrize(
    ("words", "dims"),
    [
        ("", [1, 8, 6]),
        ("--input_layout x NCF", [1, 8, 6]),
        ("--input_layout x NTF", [1, 6, 8]),
        ("--input_layout x NONTRIVIAL", [1, 6, 8]),
        ("--preserve_io", [1, 6, 8]),
        ("--preserve_io layout x", [1, 6, 8]),
        ("--preserve_io datatype", [1, 8, 6]),
    ],
)
def test_floats_of_three_dimensions_become_channel_last_unless_told(tools: Sdk, words, dims):
    assert tools.convert(*words.split()).rc == 0

    assert net_tensor(tools, "x")["dims"] == dims


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("--act_bitwidth 16 --bias_bitwidth 32", 562),  # widths alone do not quantise
        ("--float_bitwidth 16", 534),
        ("--input_list list.txt", 1032),
        ("--input_list list.txt --act_bitwidth 16", 1046),
    ],
)
def test_only_an_input_list_quantises(tools: Sdk, words, code):
    done = tools.convert(*words.split())

    assert net_tensor(tools, "x")["data_type"] == code
    assert ("Skipping quantization, no input_list provided" in done.out) == (code in (562, 534))


def test_whole_numbers_of_64_bits_become_32(tools: Sdk):
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Identity", ["ids"], ["out"])]
    ids = [value("ids", TensorProto.INT64, [4])]
    graph = helper.make_graph(nodes, "g", ids, [value("out", TensorProto.INT64, [4])])
    onnx.save(helper.make_model(graph, ir_version=8), tools.cwd / "ids.onnx")

    assert tools.convert(model="ids.onnx").rc == 0
    assert net_tensor(tools, "ids")["data_type"] == 0x32


def test_ones_own_operators_need_their_description(tools: Sdk):
    onnx.save(libraries.model(), tools.cwd / "own.onnx")
    for name in "ab":
        np.ones(libraries.SHAPE, np.float32).tofile(tools.cwd / f"{name}.raw")
    (tools.cwd / "own.txt").write_text("a.raw b.raw\n")
    (tools.cwd / "MyAdd.xml").write_text(DEFINITION)

    refused = tools.convert(model="own.onnx")
    done = tools.convert("-opc", "MyAdd.xml", "--input_list", "own.txt", model="own.onnx")

    assert (refused.rc, "registered for op type(s): MyAdd" in refused.out) == (1, True)
    assert done.rc == 0
    assert net_tensor(tools, "d")["data_type"] == 1032


def test_a_dry_run_writes_nothing(tools: Sdk):
    assert tools.convert("--dry_run", "debug", output="dry/m.cpp").rc == 0
    assert not (tools.cwd / "dry").exists()


def test_an_abrupt_exit_is_0_without_files_and_without_the_last_line(tools: Sdk):
    turn(tools.root, "qnn-onnx-converter", "abrupt")

    done = tools.convert(output="abrupt/m.cpp")

    assert done.rc == 0
    assert "Conversion complete!" not in done.out
    assert not (tools.cwd / "abrupt").exists()


@pytest.mark.parametrize(
    ("words", "old", "new"),
    [
        ("--act_bw 16", 0, 2),
        ("--disable_defer_loading", 2, 0),
        ("--weights_bitwidth 16", 2, 0),
    ],
)
def test_versions_differ_in_their_flags(tmp_path, words, old, new):
    found = [sdk(tmp_path, version).convert(*words.split()).rc for version in (OLD, NEW)]

    assert found == [old, new]


def test_without_pythonpath_the_tool_finds_no_qti(tools: Sdk):
    env = {name: value for name, value in tools.env.items() if name != "PYTHONPATH"}

    done = tools.run("qnn-onnx-converter", "-i", "m.onnx", env=env)

    assert done.rc == 1
    assert "ModuleNotFoundError: No module named 'qti'" in done.err


def net_tensor(tools: Sdk, name):
    net = json.loads((tools.cwd / "out/m_net.json").read_text())
    return net["graph"]["tensors"][name]
