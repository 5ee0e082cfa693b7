"""What the NPU takes, as far as it is known before compiling."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work.operators import check_operators, count_operators, left_to_cpu, notes_of, table
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.versions import complete_imports, known_operators
from tests.graphs import inferred, model


def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def test_every_row_is_an_operator_that_onnx_runtime_knows_or_the_provider_lists() -> None:
    unknown = [name for name, row in table().items() if name not in known_operators()]

    assert [name for name in unknown if not table()[name].documented] == []


def test_what_no_test_ever_compiled_and_no_list_names_is_left_to_the_cpu() -> None:
    rows = table()

    assert rows["ai.onnx:Det"].on == "cpu"
    assert (rows["ai.onnx:Mish"].on, rows["ai.onnx:Mish"].documented) == ("npu", False)
    assert rows["ai.onnx:Conv"].on == "npu"
    assert rows["ai.onnx:Erf"].on == "fused"


def test_all_nodes_for_the_cpu_are_listed_in_one_refusal() -> None:
    made = inferred(
        model("g (float[2, 2] x) => (float y) { [d] a = Det (x) [s] b = Sinh (a) y = Cosh (b) }")
    )

    with pytest.raises(WorkError) as caught:
        check_operators(run(), made, cpu_fallback="refuse")

    assert caught.value.message == "node 'd' (Det) runs on the CPU, and 2 more nodes do"
    assert [node for node, _ in caught.value.facts] == ["d", "s", "Cosh_y"]


def test_nodes_for_the_cpu_are_told_where_it_may_help() -> None:
    here = run()
    made = inferred(model("g (float[2, 2] x) => (float y) { [d] y = Det (x) }"))
    left = check_operators(here, made, cpu_fallback="allow")

    assert [one.node for one in left] == ["d"]
    assert here.warnings[0].message == (
        "node 'd' (ai.onnx:Det) runs on the CPU: the plugin does not take it, not in one of 2 tests"
    )


def test_what_nobody_measured_is_told_and_left_to_the_plugin() -> None:
    here = run()
    made = model("g (float[4] x) => (float[4] y) { [n] y = com.microsoft.BiasGelu (x, x) }")
    complete_imports(made)
    check_operators(here, inferred(made), cpu_fallback="refuse")

    assert [notice.message for notice in here.warnings] == [
        "node 'n' (com.microsoft:BiasGelu) may run on the CPU: neither documented nor measured"
    ]


def test_an_output_whose_size_depends_on_values_is_left_to_the_cpu() -> None:
    made = inferred(model("g (float[4] x) => (int64[1, K] y) { [nz] y = NonZero (x) }"))

    assert [(one.node, one.certain) for one in left_to_cpu(made)] == [("nz", True)]


def test_the_report_counts_operators_and_keeps_the_notes_on_them() -> None:
    made = model("g (float[4] x) => (float[4] y) { a = Clip (x) b = Clip (a) y = Neg (b) }")

    assert count_operators(made) == {"ai.onnx:Clip": 2, "ai.onnx:Neg": 1}
    assert notes_of(made) == {}


def test_notes_are_told_of_operators_that_have_one() -> None:
    made = model("g (float[4] x) => (float[4] y) { y = LpNormalization (x) }")

    assert notes_of(made) == {"ai.onnx:LpNormalization": "p = 2"}


def test_a_condition_that_is_not_met_is_told_with_its_reason() -> None:
    text = "g (float[4] x) => (float[4] y) { [n] y = LpNormalization <p = 1> (x) }"
    (one,) = left_to_cpu(inferred(model(text)))

    assert (one.node, one.why, one.certain) == ("n", "p is not 2", False)


def test_types_that_every_generation_refuses_are_told() -> None:
    (one,) = left_to_cpu(inferred(model("g (int32[4] x) => (int32[4] y) { [n] y = Neg (x) }")))

    assert one.why.startswith("the compiler does not take ElementWiseNeg")


def test_what_a_pattern_takes_is_not_left() -> None:
    text = """g (float[4] x) => (float[4] y) {
      d = Div (x, r)  e = Erf (d)  p = Add (e, one)  m = Mul (x, p)  y = Mul (m, half)
    }"""
    r, one, half = (np.array(number, np.float32) for number in (1.41421356, 1, 0.5))
    made = inferred(model(text, r=r, one=one, half=half))

    assert left_to_cpu(made) == []


def test_a_slice_of_what_only_the_runtime_can_size_is_not_foretold() -> None:
    """Seen with PP-OCRv6: ONNX's inference gives up behind a Reshape, ONNX Runtime's does not."""
    text = """g (float[2, 8] x, int64[2] size) => (float[1, n] y) {
      r = Reshape (x, size)  y = Slice (r, start, end, axis)
    }"""
    start, end, axis = (np.array([number], np.int64) for number in (0, 1, 0))
    made = inferred(model(text, start=start, end=end, axis=axis))

    assert [one for one in left_to_cpu(made) if one.operator == "ai.onnx:Slice"] == []


def test_a_part_of_no_pattern_is_left() -> None:
    (one,) = left_to_cpu(inferred(model("g (float[4] x) => (float[4] y) { [e] y = Erf (x) }")))

    assert one.why.startswith("taken inside a pattern only")
