"""Ifs that are decided before the model runs."""

from __future__ import annotations

import numpy as np

from qnnbuild.work.borders import freeze
from qnnbuild.work.branches import take_branches
from tests.graphs import inferred, model, text

BY_RATE = (
    "g (float[4] x, int64 sr) => (float[4] y) {"
    " k = Constant <value = int64 {16000}> ()"
    " c = Equal (sr, k)"
    " y = If (c) <then_branch = t () => (float[4] p) { h = Relu (x) p = Neg (h) },"
    " else_branch = e () => (float[4] q) { h = Abs (x) q = Exp (h) }> }"
)


def test_a_frozen_input_decides_an_if() -> None:
    made = model(BY_RATE)
    freeze(made, {"sr": 16000})
    flat, taken = take_branches(inferred(made))

    assert taken == ["If_y"]
    assert text(flat)[-2:] == ["h = Relu(x)", "y = Neg(h)"]


def test_another_value_takes_the_other_branch() -> None:
    made = model(BY_RATE)
    freeze(made, {"sr": 8000})
    flat, _ = take_branches(inferred(made))

    assert text(flat)[-2:] == ["h = Abs(x)", "y = Exp(h)"]


def test_an_if_on_an_input_stays() -> None:
    made = model(BY_RATE)
    flat, taken = take_branches(inferred(made))

    assert taken == []
    assert text(flat) == text(model(BY_RATE))


def test_a_known_shape_decides_an_if_inside_an_if() -> None:
    made = model(
        "g (float[1, 4] x) => (float[N, M] y) {"
        " s = Shape (x) r = Size (s) two = Constant <value = int64 {2}> () c = Equal (r, two)"
        " y = If (c) <then_branch = t () => (float[N, M] p) {"
        "   n = Size (x) four = Constant <value = int64 {4}> () d = Equal (n, four)"
        "   p = If (d) <then_branch = t2 () => (float[N, M] p2) { p2 = Relu (x) },"
        "   else_branch = e2 () => (float[N, M] q2) { q2 = Abs (x) }> },"
        " else_branch = e () => (float[N, M] q) { q = Exp (x) }> }"
    )
    flat, taken = take_branches(inferred(made))

    assert taken == ["If_y", "If_p"]
    assert text(flat)[-1] == "y = Relu(x)"


def test_names_that_are_taken_outside_get_a_number_inside() -> None:
    made = model(
        "g (float[4] x) => (float[4] y, float[4] h) {"
        " c = Identity (yes) h = Exp (x)"
        " y = If (c) <then_branch = t () => (float[4] p) { h = Relu (x) p = Neg (h) },"
        " else_branch = e () => (float[4] q) { q = Abs (x) }> }",
        yes=np.asarray(True),
    )
    flat, _ = take_branches(inferred(made))

    assert text(flat)[1:] == ["h = Exp(x)", "h_2 = Relu(x)", "y = Neg(h_2)"]


def test_a_branch_that_only_passes_on_becomes_an_identity() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { c = Identity (yes)"
        " y = If (c) <then_branch = t () => (float[4] x) { },"
        " else_branch = e () => (float[4] q) { q = Abs (x) }> }",
        yes=np.asarray(True),
    )
    flat, _ = take_branches(inferred(made))

    assert text(flat)[-1] == "y = Identity(x)"
