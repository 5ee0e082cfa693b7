"""Nodes as the plugin calls them become the user's, and what was made of them is told by node."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from qnnbuild.formats.op_trace import ALONE, OpMapping, OpTraceFacts, UnsupportedNode
from qnnbuild.work.traced import Names, Node, traced

Made = tuple[str, str, tuple[str, ...]]


def node(name: str, operator: str, *outputs: str) -> Node:
    return Node(name=name, operator=operator, outputs=outputs or (f"{name}_out",))


def looked_at(
    model: Sequence[Node],
    got: Sequence[Node],
    made: Sequence[Made] = (),
    *,
    unsupported: Sequence[tuple[str, str]] = (),
    renamed: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    facts = OpTraceFacts(
        size=0,
        soc_models=(69,),
        mappings=tuple(
            OpMapping(
                name=nodes[-1],
                operator=operator,
                group=group,
                nodes=nodes,
            )
            for group, operator, nodes in made
        ),
        unsupported=tuple(
            UnsupportedNode(name=name, operator=operator, reason="no")
            for name, operator in unsupported
        ),
    )
    return traced(facts, model, Names(model, got, renamed or {}))


@pytest.mark.parametrize(
    ("name", "is_called"),
    [
        ("conv_token_1", "conv"),  # made anew in another layout
        ("conv", "conv"),
        ("mm/MatMulAddFusion", "mm"),
        ("DequantizeLinear_token_4", "last"),  # makes the same tensor
        ("Transpose", None),  # put in by the runtime
        ("Transpose_token_2", None),
        ("mm2", None),
    ],
)
def test_a_name_of_the_runtime_is_led_back_to_the_models(name: str, is_called: str | None):
    model = [
        node("conv", "Conv"),
        node("mm", "MatMul"),
        node("last", "DequantizeLinear", "y"),
    ]
    got = [
        node("conv_token_1", "Conv", "conv"),
        node("DequantizeLinear_token_4", "DequantizeLinear", "y"),
        node("Transpose", "Transpose", "t"),
        node("Transpose_token_2", "Transpose", "t2"),
        node("mm/MatMulAddFusion", "Gemm", "g"),
    ]

    assert Names(model, got, {}).in_model(name) == is_called


def test_a_node_of_the_runtimes_is_not_taken_for_one_of_the_same_name():
    model = [node("Transpose", "Transpose")]
    got = [node("Transpose", "Transpose"), node("Transpose_token_1", "Transpose", "t")]

    assert Names(model, got, {}).in_model("Transpose_token_1") is None


def test_each_node_has_its_qnn_operators_in_the_users_name():
    model = [node("a", "LSTM"), node("b", "Relu")]
    made = [(ALONE, "Split", ("a",)), (ALONE, "Lstm", ("a",)), (ALONE, "Relu", ("b",))]
    found = looked_at(model, model, made, renamed={"a": "/layer.0/lstm", "b": ""})

    assert found["nodes"] == [
        {
            "node": "/layer.0/lstm",
            "operator": "LSTM",
            "qnn": [{"name": "a", "operator": "Split"}, {"name": "a", "operator": "Lstm"}],
            "fusion": None,
        },
        {
            "node": "b",
            "operator": "Relu",
            "qnn": [{"name": "b", "operator": "Relu"}],
            "fusion": None,
        },
    ]


def test_nodes_that_became_one_are_a_fusion():
    model = [node("div", "Div"), node("erf", "Erf")]
    found = looked_at(model, model, [("GeluFusion", "Gelu", ("div", "erf"))])

    assert found["fusions"] == [
        {
            "fusion": "GeluFusion",
            "nodes": ["div", "erf"],
            "qnn": [{"name": "erf", "operator": "Gelu"}],
        }
    ]
    assert [one["fusion"] for one in found["nodes"]] == ["GeluFusion", "GeluFusion"]


def test_quantizing_around_a_node_is_neither_a_fusion_nor_gone():
    model = [
        node("dq", "DequantizeLinear"),
        node("conv", "Conv"),
        node("q", "QuantizeLinear"),
        node("unused", "DequantizeLinear"),
    ]
    found = looked_at(model, model, [(ALONE, "Conv2d", ("dq", "conv", "q"))])

    assert [one["node"] for one in found["nodes"]] == ["conv"]
    assert (found["fusions"], found["gone"]) == ([], [])


def test_what_the_runtime_put_in_or_took_out_is_told_apart():
    model = [node("relu", "Relu"), node("same", "Identity")]
    got = [node("relu", "Relu"), node("Transpose", "Transpose", "t")]
    found = looked_at(
        model, got, [(ALONE, "Transpose", ("Transpose",)), (ALONE, "Relu", ("relu",))]
    )

    assert found["added"] == [{"name": "Transpose", "operator": "Transpose"}]
    assert found["gone"] == [{"node": "same", "operator": "Identity"}]
    assert found["summary"] == {
        "nodes": 2, "qnn_operators": 2, "fusions": 0, "on_cpu": 0, "gone": 1, "added": 1,
        "told_by_the_plugin": {},
    }  # fmt: skip


def test_a_node_on_the_cpu_has_the_users_name_and_the_runtimes():
    model = [node("erf", "Erf")]
    got = [node("erf_token_3", "Erf", "other")]
    found = looked_at(
        model, got, unsupported=[("erf_token_3", "Erf")], renamed={"erf": "/gelu/Erf"}
    )

    assert found["on_cpu"] == [
        {"node": "/gelu/Erf", "operator": "Erf", "reason": "no", "runtime_name": "erf_token_3"}
    ]
    assert found["gone"] == []
