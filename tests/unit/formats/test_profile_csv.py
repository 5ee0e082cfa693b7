"""The plugin's CSV of times, as it was written on the host's emulator."""

from __future__ import annotations

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.profile_csv import Measured, read_profile
from tests.unit.formats.samples import sample

DETAILED = sample("profile_detailed.csv")
HEAD = DETAILED.splitlines()[0]


def test_a_layer_has_a_value_for_each_run_and_the_nodes_that_it_computes():
    facts = read_profile(DETAILED)
    gelu = next(layer for layer in facts.layers if layer.name == "div_2")

    assert (gelu.unit, gelu.values) == ("CYCLES", (46634736, 37257473))
    assert gelu.nodes == ("div", "erf", "add", "mul", "mul2")
    assert gelu.mean == 41946104.5


def test_layers_keep_the_order_of_the_graph_with_its_borders():
    assert [layer.name for layer in read_profile(DETAILED).layers] == [
        "Input", "Transpose", "conv_token_1", "relu", "div_2", "mean", "mm", "Output",
    ]  # fmt: skip


def test_basic_has_the_whole_graph_only():
    facts = read_profile(sample("profile_basic.csv"))

    assert facts.layers == ()
    assert facts.whole[-1] == Measured(
        name="QNN (execute) time", unit="US", values=(120947, 168646)
    )


def test_parts_of_a_compile_are_told_apart_from_the_whole():
    facts = read_profile(sample("profile_compile.csv"))

    assert [one.name for one in facts.whole][:3] == [
        "QNN (finalize) time", "- Graph Preparation Initializing", "- Graph Optimizations",
    ]  # fmt: skip


def test_commas_and_colons_in_a_name_are_part_of_it():
    line = b"0,NODE,7,CYCLES,BACKEND,SUB-EVENT,in:0, a:OpId_3 (cycles),x:0;y\n"
    (layer,) = read_profile(HEAD + b"\n" + line).layers

    assert (layer.name, layer.nodes) == ("in:0, a", ("x:0", "y"))


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (
            b"Msg Timestamp,Other\n",
            "a profile with other columns than the plugin is known to write",
        ),
        (HEAD + b"\n0,NODE,7\n", "a profile whose line 2 is cut short"),
        (
            HEAD + b"\n0,NODE,?,US,BACKEND,ROOT,a,b\n",
            "a profile whose line 2 has no number where a time should be",
        ),
        (DETAILED[:-3], "a profile whose line 33 is cut short"),
        (HEAD + b"\n\xff", "a profile that is no text in UTF-8"),
    ],
)
def test_what_is_not_whole_is_told(data: bytes, says: str):
    with pytest.raises(FormatError) as caught:
        read_profile(data)

    assert str(caught.value) == says
