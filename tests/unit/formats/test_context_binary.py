"""Context binaries that the plugin made, read by structure."""

from __future__ import annotations

import struct

import pytest

from qnnbuild.formats.context_binary import read_context_binary
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.tensor import GraphFacts, TensorFacts, qnn_dtype
from tests.unit.formats.samples import ONE_GRAPH, sample


def test_a_binary_names_its_chip_and_sdk():
    facts = read_context_binary(memoryview(sample("one_graph_sm8750.bin")))

    assert (facts.soc_type, facts.soc_model, facts.arch) == ("SM8750", 69, 79)
    assert (facts.vtcm_mb, facts.hvx_threads) == (8, 6)
    assert facts.sdk_build == "v2.51.0.260929181845"
    assert (facts.backend, facts.core_api, facts.backend_api) == ("HTP", "2.40.0", "5.51.0")
    assert facts.settings["O"] == "2"
    assert facts.notes == ()


def test_a_quantized_graph_tells_its_borders_with_their_scales():
    facts = read_context_binary(memoryview(sample("one_graph_sm8750.bin")))
    wide = (1, 8, 16, 16)

    assert [graph.name for graph in facts.graphs] == [ONE_GRAPH]
    assert [(t.name, t.dtype, t.shape, t.zero_point) for t in facts.graphs[0].inputs] == [
        ("x", "uint8", (1, 3, 16, 16), 128),
        ("x2", "uint8", wide, 120),
    ]
    assert [(t.name, t.dtype, t.shape, t.zero_point) for t in facts.graphs[0].outputs] == [
        ("y", "uint8", wide, 120),
        ("y2", "uint8", wide, 120),
    ]
    assert facts.graphs[0].inputs[0].scale == pytest.approx(0.02)


def test_several_graphs_of_one_binary_are_all_told():
    facts = read_context_binary(memoryview(sample("two_graphs_sm8750.bin")))
    scores = TensorFacts(name="scores", dtype="float32", shape=(1, 10))

    assert facts.graphs == (
        GraphFacts(
            name="QNNExecutionProvider_QNNExecutionProvider_4534053821767735619_1_0",
            inputs=(TensorFacts(name="x", dtype="float32", shape=(1, 3, 16, 16)),),
            outputs=(scores,),
        ),
        GraphFacts(
            name="QNNExecutionProvider_QNNExecutionProvider_14309111072632677185_1_0",
            inputs=(TensorFacts(name="x_b", dtype="float32", shape=(1, 3, 16, 16)),),
            outputs=(scores,),
        ),
    )


@pytest.mark.parametrize("kept", [57343, 30000, 4096])
def test_a_cut_binary_is_refused_with_both_sizes(kept: int):
    with pytest.raises(FormatError) as caught:
        read_context_binary(memoryview(sample("one_graph_sm8750.bin")[:kept]))

    assert str(caught.value) == (f"cut short: the header promises 57344 bytes, the file has {kept}")


def test_a_binary_cut_in_its_header_is_refused():
    with pytest.raises(FormatError) as caught:
        read_context_binary(memoryview(sample("one_graph_sm8750.bin")[:32]))

    assert str(caught.value) == "cut short: 32 bytes, less than a header"


def test_a_zeroed_description_is_refused():
    data = bytearray(sample("one_graph_sm8750.bin"))
    data[0x28:0x400] = bytes(0x400 - 0x28)
    with pytest.raises(FormatError):
        read_context_binary(memoryview(bytes(data)))


def test_zeroed_settings_leave_a_note_and_the_facts_of_the_description():
    data = bytearray(sample("one_graph_sm8750.bin"))
    data[0x1000:] = bytes(len(data) - 0x1000)
    facts = read_context_binary(memoryview(bytes(data)))

    assert (facts.soc_type, facts.soc_model, facts.arch) == (None, 69, 79)
    assert facts.notes == ("the compiler's settings are not in it",)


def test_a_binary_of_another_container_version_is_read_by_its_settings():
    data = bytearray(sample("one_graph_sm8750.bin"))
    data[:8] = struct.pack(">2I", 2, 9)
    facts = read_context_binary(memoryview(bytes(data)))

    assert (facts.soc_type, facts.arch, facts.vtcm_mb) == ("SM8750", 79, 8)
    assert facts.sdk_build == "v2.51.0.260929181845"
    assert facts.graphs == ()
    assert facts.notes == (
        "its header is of an unknown version: graphs, inputs and outputs are not known",
    )


def test_settings_that_differ_between_graphs_are_told_and_not_chosen():
    data = sample("two_graphs_sm8750.bin").replace(b";hvx_threads=6;", b";hvx_threads=4;", 1)
    facts = read_context_binary(memoryview(data))

    assert facts.hvx_threads is None
    assert facts.notes == ("hvx_threads differs between its graphs: 4, 6",)


@pytest.mark.parametrize(
    ("code", "name"),
    [(0x0232, "float32"), (0x0216, "float16"), (0x0408, "uint8"), (0x0316, "int16"),
     (0x0064, "int64"), (0x0508, "bool"), (0x0608, "str"), (0x7FFF, "0x7fff"), (0x0400, "0x0400")],
)  # fmt: skip
def test_a_qnn_data_type_has_numpys_name(code: int, name: str):
    assert qnn_dtype(code) == name


def test_the_sdks_own_tools_add_a_number_to_the_build():
    """Of the form v2.40.0.251030114326_189385; here shortened to the sample's length."""
    data = sample("one_graph_sm8750.bin").replace(b"v2.51.0.260929181845", b"v2.40.0.251030_18938")

    assert read_context_binary(memoryview(data)).sdk_build == "v2.40.0.251030_18938"


def test_a_number_of_thousands_of_digits_is_cut():
    text = b"OpO=2;soc_type=SM8750;arch=" + b"9" * 5000 + b";"
    unknown = bytes.fromhex("00000003 00000003 00000000 00000001") + text

    assert read_context_binary(memoryview(unknown)).arch == int("9" * 20)
