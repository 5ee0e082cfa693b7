"""qairt-converter, qairt-quantizer, and their DLCs in the generator."""

from __future__ import annotations

import pytest

from qnnbuild.formats.dlc import read_dlc
from tests.standin.lay_out import HOST, NEW, OLD, turn
from tests.standin.running import Sdk, configured, htp, sdk
from tests.unit.formats.samples import ONE_GRAPH, sample

OLDER = "2.26.0.240828"
DLC_LIBRARY = f"lib/{HOST}/libQnnModelDlc.so"
ACCEPTED = [
    "-s x 1,6,8 --out_tensor_node y --source_model_input_datatype x float32",
    "--source_model_input_shape x 1,6,8 --out_tensor_name y",
    "-d x 1,6,8 --source_model_input_layout x NTF --desired_input_layout x NTF",
    "--preserve_io_datatype x --onnx_skip_simplification --onnx_override_batch 1",
    "--float_bitwidth 16 --float_bias_bitwidth 32 --export_format DLC_DEFAULT",
    "--target_backend HTP --target_soc_model SM8750 --remove_unused_inputs",
    "--onnx_define_symbol n 3 --onnx_validate_models --set_model_version 1",
]
REFUSED = [
    ("--desired_input_shap z", 2, "expected 2 arguments"),
    ("--out_node y", 2, "unrecognized arguments"),
    ("--io_config c.yaml", 2, "unrecognized arguments"),
    ("--onnx_no_simplification", 2, "unrecognized arguments"),
    ("--act_bitwidth 16", 2, "unrecognized arguments"),
    ("--target_backend NPU", 2, "invalid choice"),
    ("--target_soc_model SM8750", 1, "--target_soc_model needs --target_backend"),
    ("-s z 1,2", 1, "Input name z is not an input"),
    ("-q none.json", 1, "Cannot read quantization overrides"),
]


def convert(where: Sdk, *argv: object, output: str = "m_fp32.dlc"):
    return where.call("qairt-converter", "-i", "m.onnx", "-o", output, *argv)


def quantize(where: Sdk, *argv: object, source: str = "m_fp32.dlc"):
    return where.call("qairt-quantizer", "-i", source, *argv)


@pytest.mark.parametrize("words", ACCEPTED)
def test_the_new_spellings_are_accepted(tools: Sdk, words):
    done = convert(tools, *words.split())

    assert (done.rc, done.err) == (0, "")
    assert "INFO_CONVERSION_SUCCESS: Conversion completed successfully" in done.out
    assert "INFO_WRITE_SUCCESS" in done.out


@pytest.mark.parametrize(("words", "rc", "text"), REFUSED)
def test_other_spellings_and_wrong_values_are_refused(tools: Sdk, words, rc, text):
    done = convert(tools, *words.split(), output="refused.dlc")

    assert (done.rc, text in done.out + done.err) == (rc, True)
    assert not (tools.cwd / "refused.dlc").exists()


@pytest.mark.parametrize(
    ("tool", "old", "new"),
    [
        ("qairt-converter", "--onnx_batch 1", "--onnx_override_batch 1"),
        ("qairt-converter", "--onnx_no_simplification", "--onnx_skip_simplification"),
        ("qairt-quantizer", "--algorithms cle", "--apply_algorithms cle"),
        ("qairt-quantizer", "--ignore_encodings", "--ignore_quantization_overrides"),
    ],
)
@pytest.mark.parametrize("version", [OLDER, OLD, NEW])
def test_each_version_takes_one_spelling(tmp_path, tool, old, new, version):
    tools = sdk(tmp_path, version)
    assert convert(tools).rc == 0
    source = {"qairt-converter": "m.onnx", "qairt-quantizer": "m_fp32.dlc"}[tool]

    found = [tools.call(tool, "-i", source, *words.split()).rc for words in (old, new)]

    assert found == ([0, 2] if version == OLDER else [2, 0])


def test_a_zero_without_a_dlc_exists(tools: Sdk):
    turn(tools.root, "qairt-converter", "no-dlc")

    assert convert(tools, output="lost.dlc").rc == 0
    assert not (tools.cwd / "lost.dlc").exists()


def test_the_graph_keeps_the_name_of_the_first_output_path(tools: Sdk):
    assert convert(tools).rc == 0
    assert quantize(tools, "-l", "list.txt", "-o", "m_int8.dlc", "--act_bitwidth", 16).rc == 0
    (tools.cwd / "m_int8.dlc").rename(tools.cwd / "other.dlc")
    outer = configured(tools, htp(["m_fp32"]))
    words = ("--dlc_path", "other.dlc", "--binary_file", "dlc", "--config_file", outer)

    assert tools.generate(*words, model=str(tools.root / DLC_LIBRARY)).rc == 0

    graph = tools.read_back("ctx/dlc.bin")["graphs"][0]["info"]
    assert graph["graphName"] == "m_fp32"
    tensor = graph["graphInputs"][0]["info"]
    assert (tensor["dimensions"], tensor["dataType"]) == ([1, 6, 8], "QNN_DATATYPE_UFIXED_POINT_16")
    assert tools.settings("ctx/dlc.bin") == (79, 3, 8, 4)


def test_the_dlc_library_needs_a_dlc(tools: Sdk):
    done = tools.generate("--binary_file", "no", model=str(tools.root / DLC_LIBRARY))

    assert (done.rc, done.err) == (1, "libQnnModelDlc.so needs --dlc_path\n")


def test_the_quantizer_refuses_what_excludes_each_other(tools: Sdk):
    assert convert(tools).rc == 0
    fallback = quantize(tools, "--enable_float_fallback", "-l", "list.txt")
    missing = quantize(tools, "-l", "list.txt", source="none.dlc")
    no_list = quantize(tools, "-l", "none.txt")

    assert (fallback.rc, missing.rc, no_list.rc) == (1, 1, 1)
    assert tools.call("qairt-quantizer", "-l", "list.txt").rc == 2


def test_the_quantizers_default_name_is_beside_its_input(tools: Sdk):
    assert convert(tools).rc == 0
    assert quantize(tools, "-l", "list.txt").rc == 0
    assert (tools.cwd / "m_fp32_quantized.dlc").is_file()


def test_the_reader_of_real_dlcs_reads_these_too(tools: Sdk):
    assert convert(tools).rc == 0

    facts = read_dlc(memoryview((tools.cwd / "m_fp32.dlc").read_bytes()))

    assert facts.converter == "qairt-converter v2.40.0.251030114326_189385"
    (graph,) = facts.graphs
    assert (graph.name, graph.operators) == ("m_fp32", (("MatMul", 1), ("Relu", 1)))
    assert [(t.name, t.dtype, t.shape) for t in graph.inputs] == [("x", "float32", (1, 6, 8))]
    assert [t.name for t in graph.outputs] == ["y"]


def test_a_real_dlc_becomes_a_context_but_cannot_be_run(tools: Sdk):
    (tools.cwd / "real.dlc").write_bytes(sample("quantized.dlc"))
    words = ("--dlc_path", "real.dlc", "--binary_file", "real")
    assert tools.generate(*words, model=str(tools.root / DLC_LIBRARY)).rc == 0
    binary = ("--retrieve_context", "ctx/real.bin", "--backend=libQnnHtp.so")

    names = [graph["info"]["graphName"] for graph in tools.read_back("ctx/real.bin")["graphs"]]
    ran = tools.call("qnn-net-run", *binary, "--input_list", "list.txt")

    assert names == [ONE_GRAPH]
    assert ran.rc == 1
