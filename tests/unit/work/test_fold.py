"""Simplification within limits."""

from __future__ import annotations

import numpy as np
import pytest

from qnnbuild.work import fold
from qnnbuild.work.fold import put_back, readable, simplify, weights_aside
from qnnbuild.work.run import Run
from tests.graphs import inferred, model, text

BOMB = (
    "g (float[1] x) => (float[1024, 1024] y) {"
    " n = Constant <value = int64[2] {1024, 1024}> ()"
    " big = ConstantOfShape (n) y = Add (x, big) }"
)


def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def test_constants_are_folded() -> None:
    made = model(
        "g (float[4] x) => (float[4] y) { b = Add (a, a) y = Mul (x, b) }", a=np.ones(4, np.float32)
    )
    simple = simplify(run(), inferred(made), before=made.ByteSize(), max_fold_bytes=1 << 20)

    assert text(simple) == ["y = Mul(x, b)"]


def test_growth_beyond_the_limit_is_told_with_both_sizes_and_not_kept() -> None:
    here = run()
    simple = simplify(here, inferred(model(BOMB)), before=200, max_fold_bytes=1 << 20)

    assert simple.ByteSize() < 4096
    assert here.warnings[0].message.startswith(
        "folding constants grows the model from 200 bytes to 4 MiB; "
    )


def test_growth_within_the_limit_is_kept() -> None:
    here = run()
    simple = simplify(here, inferred(model(BOMB)), before=200, max_fold_bytes=8 << 20)

    assert text(simple) == ["y = Add(x, big)"]
    assert here.warnings == []


def test_big_weights_wait_outside_and_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fold, "INLINE_LIMIT", 100)
    monkeypatch.setattr(fold, "ASIDE_FROM", 64)
    weights = np.arange(32, dtype=np.float32)
    made = model("g (float[32] x) => (float[32] y) { i = Identity (w) y = Mul (x, i) }", w=weights)
    with weights_aside(made) as aside:
        held = [value.name for value in made.graph.input]
        made = simplify(run(), inferred(made), before=made.ByteSize(), max_fold_bytes=1 << 20)
        put_back(made, aside)

    assert held == ["x", "w"]
    assert [value.name for value in made.graph.input] == ["x"]
    assert [tensor.name for tensor in made.graph.initializer] == ["w"]
    assert text(made) == ["y = Mul(x, w)"]


@pytest.mark.parametrize(
    ("size", "words"),
    [(240, "240 bytes"), (67109723, "64 MiB"), (5000, "4.88 KiB"), (3 << 30, "3 GiB")],
)
def test_sizes_are_told_in_words(size: int, words: str) -> None:
    assert readable(size) == words
