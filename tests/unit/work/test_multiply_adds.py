"""Multiply-adds counted by hand, operator by operator."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work.multiply_adds import multiply_adds, share_of
from tests.graphs import inferred, model


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


@pytest.mark.parametrize(
    ("text", "weights", "wanted"),
    [
        (
            "g (float[1, 4, 8, 8] x) => (float[1, 6, A, B] y) { [n] y = Conv <group = 2> (x, w) }",
            {"w": zeros(6, 2, 3, 3)},
            (6 * 6 * 6) * (2 * 3 * 3),
        ),
        (
            (
                "g (float[1, 4, 8, 8] x) => (float[1, 6, A, B] y)"
                " { [n] y = ConvTranspose <strides = [2, 2]> (x, w) }"
            ),
            {"w": zeros(4, 6, 3, 3)},
            (4 * 8 * 8) * (6 * 3 * 3),
        ),
        (
            "g (float[5, 7] x) => (float[A, B] y) { [n] y = Gemm <transB = 1> (x, w) }",
            {"w": zeros(3, 7)},
            5 * 7 * 3,
        ),
        (
            "g (float[7, 5] x) => (float[A, B] y) { [n] y = Gemm <transA = 1> (x, w) }",
            {"w": zeros(7, 3)},
            5 * 7 * 3,
        ),
        (
            "g (float[2, 4, 5, 7] x) => (float[2, 4, A, B] y) { [n] y = MatMul (x, w) }",
            {"w": zeros(7, 3)},
            2 * 4 * 5 * 7 * 3,
        ),
        (
            (
                "g (float[9, 1, 6] x) => (float[A, B, C, D] y)"
                ' { [n] y = LSTM <hidden_size = 5, direction = "bidirectional"> (x, w, r) }'
            ),
            {"w": zeros(2, 20, 6), "r": zeros(2, 20, 5)},
            9 * 2 * 4 * 5 * (6 + 5),
        ),
        (
            (
                "g (float[9, 1, 6] x) => (float[A, B, C, D] y)"
                " { [n] y = GRU <hidden_size = 5>(x, w, r) }"
            ),
            {"w": zeros(1, 15, 6), "r": zeros(1, 15, 5)},
            9 * 3 * 5 * (6 + 5),
        ),
        (
            (
                "g (float[2, 3, 5] x) => (float[A, B, C] y)"
                ' { [n] y = Einsum <equation = "b i d, ...d -> b i"> (x, w) }'
            ),
            {"w": zeros(5)},
            2 * 3 * 5,
        ),
        (
            (
                "g (float[4, 2, 3] x) => (float[A, B, C] y)"
                ' { [n] y = Einsum <equation = "...ij,jk->...ik"> (x, w) }'
            ),
            {"w": zeros(3, 6)},
            4 * 2 * 3 * 6,
        ),
        ("g (float[4] x) => (float[4] y) { [n] y = Add (x, w) }", {"w": zeros(4)}, 0),
    ],
)
def test_an_operators_products_are_counted(
    text: str, weights: dict[str, np.ndarray], wanted: int
) -> None:
    made = inferred(model(text, **weights))  # type: ignore[arg-type]  # weights are all arrays

    assert sum(multiply_adds(made).values()) == wanted


def test_a_quantized_weight_counts_by_the_shape_behind_its_quantizer() -> None:
    made = model(
        "g (float[1, 7] x) => (float[1, 3] y)"
        " { d = DequantizeLinear (w, s) [n] y = MatMul (x, d) }",
        w=np.zeros((7, 3), np.int8),
        s=np.float32(0.1),
    )

    assert multiply_adds(made) == {"n": 21}


def test_nodes_in_branches_are_counted_too() -> None:
    made = model(
        "g (float[2, 7] x, bool c) => (float[2, 3] y) {"
        " y = If (c) <then_branch = t () => (float[2, 3] p) { [a] p = MatMul (x, w) },"
        " else_branch = e () => (float[2, 3] q) { [b] q = MatMul (x, w) }> }",
        w=zeros(7, 3),
    )

    assert multiply_adds(made) == {"a": 42, "b": 42}


def test_what_has_no_known_shape_counts_nothing() -> None:
    made = model("g (float[N, K] x) => (float[N, 3] y) { y = MatMul (x, w) }", w=zeros(7, 3))

    assert multiply_adds(made) == {}


def test_the_share_of_some_nodes() -> None:
    counts = {"a": 30, "b": 10}

    assert share_of(counts, ["b", "nowhere", "b"]) == 0.25
    assert share_of({}, ["b"]) == 0.0
