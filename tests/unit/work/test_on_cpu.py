"""What the CPU runs, out of the compiled file and the op trace: who is right where they differ."""

from __future__ import annotations

from qnnbuild.work.on_cpu import accounted


def left(node: str, operator: str = "Erf", reason: str | None = None) -> dict[str, str | None]:
    return {"node": node, "operator": operator, "reason": reason}


def traced(
    node: str, operator: str = "Erf", reason: str | None = "no Erf", runtime_name: str = ""
) -> dict[str, str | None]:
    return {**left(node, operator, reason), "runtime_name": runtime_name or node}


def test_where_both_agree_the_trace_has_the_reason():
    assert accounted([left("a")], [traced("a")]) == ([left("a", reason="no Erf")], [])


def test_where_the_trace_has_no_reason_the_log_has():
    nodes, differs = accounted([left("a", reason="said the log")], [traced("a", reason=None)])

    assert (nodes, differs) == ([left("a", reason="said the log")], [])


def test_a_node_that_only_the_runtime_calls_so_gets_the_users_name():
    nodes, _ = accounted([left("Erf_token_3")], [traced("/gelu/Erf", runtime_name="Erf_token_3")])

    assert nodes == [left("/gelu/Erf", reason="no Erf")]


def test_a_node_that_the_trace_does_not_know_is_listed_and_told():
    nodes, differs = accounted([left("a"), left("cast", "Cast")], [traced("a")])

    assert nodes == [left("a", reason="no Erf"), left("cast", "Cast")]
    assert differs == [{"node": "cast", "operator": "Cast", "only_in": "ctx.onnx"}]


def test_a_node_that_the_compiled_file_has_not_is_told_and_not_listed():
    assert accounted([], [traced("a")]) == (
        [],
        [{"node": "a", "operator": "Erf", "only_in": "op trace"}],
    )


def test_two_nodes_of_one_name_are_two():
    nodes, differs = accounted([left("a"), left("a")], [traced("a")])

    assert len(nodes) == 2
    assert differs == [{"node": "a", "operator": "Erf", "only_in": "ctx.onnx"}]
