"""qnn_op_trace.json as the plugin wrote it, and what is no whole one."""

from __future__ import annotations

import json

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.op_trace import OpMapping, UnsupportedNode, read_op_trace
from tests.unit.formats.samples import sample

TOLD = json.loads(sample("qnn_op_trace.json"))


def test_each_qnn_operator_names_the_nodes_that_it_was_made_of():
    facts = read_op_trace(sample("qnn_op_trace.json"))

    assert facts.soc_models == (69,)
    assert facts.mappings[3] == OpMapping(
        name="div_2",
        operator="Gelu",
        group="GeluFusion",
        nodes=("div", "erf", "add", "mul", "mul2"),
    )
    assert [mapping.operator for mapping in facts.mappings] == [
        "Transpose", "Conv2d", "Relu", "Gelu", "ReduceMean", "FullyConnected",
    ]  # fmt: skip


def test_a_node_that_is_not_supported_has_its_reason_once():
    facts = read_op_trace(sample("qnn_op_trace.json"))

    assert facts.unsupported == (
        UnsupportedNode(
            name="on_cpu",
            operator="Erf",
            reason="Operators of type `Erf` are not supported by QNN EP.",
        ),
    )
    assert facts.summary["total_onnx_nodes"] == 11


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "no op trace: it is no JSON with a schema_version"),
        (b"[1]", "no op trace: it is no JSON with a schema_version"),
        (b"\xff\xfe", "no op trace: it is no JSON with a schema_version"),
        (b"{}", "no op trace: it is no JSON with a schema_version"),
        (b'{"schema_version": 3}', "an op trace of schema version 3; 2 is known"),
        (b'{"schema_version": 2}', "an op trace that lacks fields of its schema version"),
        (
            json.dumps({**TOLD, "soc_traces": [{}]}).encode(),
            "an op trace that lacks fields of its schema version",
        ),
    ],
)
def test_what_is_no_op_trace_is_told(data: bytes, says: str):
    with pytest.raises(FormatError) as caught:
        read_op_trace(data)

    assert str(caught.value) == says
