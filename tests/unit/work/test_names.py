"""Order and names inside a graph."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.names import (
    check_borders,
    check_single_makers,
    drop_remarks,
    name_nodes,
    sort_nodes,
    tell_case_twins,
)
from qnnbuild.work.run import Run, WorkError
from tests.graphs import model, text

CHAIN = "g (float[4] x) => (float[4] y) { a = Relu (x) b = Neg (a) y = Abs (b) }"


def test_sorted_nodes_stay_where_they_are() -> None:
    made = model(CHAIN)

    assert not sort_nodes(made)
    assert text(made) == ["a = Relu(x)", "b = Neg(a)", "y = Abs(b)"]


def test_unsorted_nodes_are_sorted() -> None:
    made = model("g (float[4] x) => (float[4] y) { y = Abs (b) b = Neg (a) a = Relu (x) }")

    assert sort_nodes(made)
    assert text(made) == ["a = Relu(x)", "b = Neg(a)", "y = Abs(b)"]


def test_what_an_inner_graph_reads_comes_before_its_node() -> None:
    made = model(
        "g (bool c, float[4] x) => (float[4] y) {"
        " y = If (c) <then_branch = t () => (float[4] p) { p = Neg (a) },"
        " else_branch = e () => (float[4] q) { q = Identity (a) }>"
        " a = Relu (x) }"
    )
    sort_nodes(made)

    assert text(made) == ["a = Relu(x)", "y = If(c)"]


def test_a_loop_of_nodes_is_refused() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { [p] a = Add (x, b) [q] b = Neg (a) y = Abs (b) }"
    )

    with pytest.raises(WorkError) as caught:
        sort_nodes(made)

    assert caught.value.message == "the graph has a loop through node 'p' (Add)"


def test_nodes_without_names_are_named_after_what_they_make() -> None:
    made = model(CHAIN)
    changed = name_nodes(made)

    assert [node.name for node in made.graph.node] == ["Relu_a", "Neg_b", "Abs_y"]
    assert changed == {"Relu_a": "", "Neg_b": "", "Abs_y": ""}


def test_the_users_names_stay_and_a_second_one_gets_a_number() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { [n] a = Relu (x) [n_2] b = Neg (a) [n] y = Abs (b) }"
    )
    changed = name_nodes(made)

    assert [node.name for node in made.graph.node] == ["n", "n_2", "n_3"]
    assert changed == {"n_3": "n"}


def test_a_graph_without_a_name_gets_one() -> None:
    made = model(CHAIN)
    made.graph.name = ""
    name_nodes(made)

    assert made.graph.name == "graph"


def test_a_tensor_that_is_made_twice_is_refused() -> None:
    made = model("g (float[4] x) => (float[4] y) { [p] y = Relu (x) [q] y = Neg (x) }")

    with pytest.raises(WorkError) as caught:
        check_single_makers(made)

    assert caught.value.message == "tensor 'y' is made twice"
    assert caught.value.facts == (("first by", "node 'p' (Relu)"), ("again by", "node 'q' (Neg)"))


def test_an_output_that_is_listed_twice_is_refused_with_the_line_to_write() -> None:
    made = model("g (float[4] x) => (float[4] y, float[4] y) { y = Relu (x) }")

    with pytest.raises(WorkError) as caught:
        check_borders(made)

    assert caught.value.message == "output 'y' is listed twice"
    assert caught.value.hint == "write outputs: [y]"


def test_a_graph_without_nodes_is_refused() -> None:
    with pytest.raises(WorkError) as caught:
        check_borders(model("g (float[4] x) => (float[4] x) { }"))

    assert caught.value.message == "the graph has no nodes"


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("seq(float[4])", "sequence"), ("string[4]", "string"), ("complex64[4]", "complex64")],
)
def test_only_tensors_of_numbers_cross_the_border(kind: str, dtype: str) -> None:
    with pytest.raises(WorkError) as caught:
        check_borders(model(f"g ({kind} x) => (float[4] y) {{ y = Foo (x) }}"))

    assert caught.value.message == f"input 'x' is {dtype}, which no NPU takes"


def test_names_that_differ_by_case_are_told(tmp_path: Path) -> None:
    run = Run(params={}, inputs={}, outputs={})
    tell_case_twins(run, model("g (float[4] X, float[4] x) => (float[4] y) { y = Add (X, x) }"))

    assert [n.message for n in run.warnings] == ["the inputs X, x share a file name on some disks"]


def test_who_made_the_file_does_not_stay_in_it() -> None:
    made = model(CHAIN)
    made.producer_name, made.doc_string, made.graph.doc_string = "torch", "on a Tuesday", "by me"
    made.metadata_props.add(key="date", value="today")
    made.graph.node[0].doc_string = "line 7"
    drop_remarks(made)

    assert made.SerializeToString() == model(CHAIN).SerializeToString()
