"""Graphs that repairs are for: "repair/what is special" → the graph, and what becomes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from onnx import ModelProto, helper

from tests.graphs import model

F = np.float32
ROOT = {"root": F(np.sqrt(2)), "one": F(1), "half": F(0.5)}


def gelu(body: str, opset: int = 17) -> Callable[[], ModelProto]:
    start = "d = Div (x, root) e = Erf (d) a = Add (e, one)"
    graph = f"g (float[1, 8] x) => (float[1, 8] y) {{ {start} {body} }}"
    used = {name: value for name, value in ROOT.items() if name in graph}
    return lambda: model(graph, opset, **used)


def recurrent(activations: list[str]) -> ModelProto:
    random = np.random.default_rng(1)
    made = model(
        "g (float[3, 1, 4] x) => (float[3, 1, 1, 4] y) { y = LSTM <hidden_size = 4> (x, w, r) }",
        w=random.standard_normal((1, 16, 4), F),
        r=random.standard_normal((1, 16, 4), F),
    )
    made.graph.node[0].attribute.append(helper.make_attribute("activations", activations))
    return made


def gather(indices: list[list[int]], data: str = "x") -> Callable[[], ModelProto]:
    return lambda: model(
        f"g (float[2, 3, 4] x) => (float[2, N] y) {{ p = Neg (x) y = GatherND ({data}, i) }}",
        i=np.asarray(indices),
    )


def variance(mean: str, opset: int = 17, **weights: object) -> Callable[[], ModelProto]:
    return lambda: model(
        f"g (float[2, 8] x) => (float[2, 1] y) {{ {mean} m2 = Mul (m, m) y = Sub (s, m2) }}",
        opset,
        **weights,
    )


BY_MEAN = "q = Mul (x, x) s = ReduceMean <axes = [1]> (q) m = ReduceMean <axes = [-1]> (x)"
BY_SUM = (
    "q = Mul (x, x) qs = ReduceSum (q, axis) s = Mul (qs, eighth) "
    "xs = ReduceSum (x, axis) m = Mul (eighth, xs)"
)

BROKEN: Mapping[str, Callable[[], ModelProto]] = {
    "gelu/no half": gelu("y = Mul (x, a)"),
    "gelu/half last": gelu("m = Mul (x, a) y = Mul (m, half)"),
    "gelu/half first": gelu("h = Mul (x, half) y = Mul (h, a)", 20),
    "gelu/half of the sum": gelu("h = Mul (a, half) y = Mul (x, h)"),
    "clip-bounds/computed min": lambda: model(
        "g (float[4] x) => (float[4] y) { l = ReduceMin <keepdims = 0> (x) h = Neg (l)"
        " y = Clip (x, l, h) }"
    ),
    "clip-bounds/computed max only": lambda: model(
        "g (float[4] x) => (float[4] y) { h = ReduceMean <keepdims = 0> (x) y = Clip (x, , h) }"
    ),
    "default-activations/lstm": lambda: recurrent(["Sigmoid", "Tanh", "Tanh"]),
    "gather-nd/two of three": gather([[0, 1], [1, -1]]),
    "hard-swish/input first": lambda: model(
        "g (float[4] x) => (float[4] y) { h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)"
        " y = Mul (x, h) }"
    ),
    "two-pass-variance/by mean": variance(BY_MEAN),
    "two-pass-variance/by sum": variance(BY_SUM, 18, axis=np.asarray([1]), eighth=F(0.125)),
}

MENDED: Mapping[str, list[str]] = {
    "gelu/no half": ["y_gelu = Gelu(x)", "y = Mul(y_gelu, y_scale)"],
    "gelu/half last": ["y = Gelu(x)"],
    "gelu/half first": ["y = Gelu(x)"],
    "gelu/half of the sum": ["y = Gelu(x)"],
    "clip-bounds/computed min": [
        "l = ReduceMin(x)",
        "h = Neg(l)",
        "y_max = Max(x, l)",
        "y = Min(y_max, h)",
    ],
    "clip-bounds/computed max only": ["h = ReduceMean(x)", "y = Min(x, h)"],
    "default-activations/lstm": ["y = LSTM(x, w, r)"],
    "gather-nd/two of three": ["y_joined = Reshape(x, y_shape)", "y = Gather(y_joined, y_indices)"],
    "hard-swish/input first": ["y = HardSwish(x)"],
    "two-pass-variance/by mean": [
        "y_mean = ReduceMean(x)",
        "y_off = Sub(x, y_mean)",
        "y_squared = Mul(y_off, y_off)",
        "y = ReduceMean(y_squared)",
    ],
    "two-pass-variance/by sum": [
        "y_mean = ReduceMean(x, y_mean_axes)",
        "y_off = Sub(x, y_mean)",
        "y_squared = Mul(y_off, y_off)",
        "y = ReduceMean(y_squared, y_axes)",
    ],
}

UNTOUCHED: Mapping[str, Callable[[], ModelProto]] = {
    "gelu/another root": lambda: model(
        "g (float[8] x) => (float[8] y) { d = Div (x, k) e = Erf (d) a = Add (e, one)"
        " y = Mul (x, a) }",
        k=F(2),
        one=F(1),
    ),
    "gelu/the sum is an output": lambda: model(
        "g (float[8] x) => (float[8] y, float[8] a) { d = Div (x, root) e = Erf (d)"
        " a = Add (e, one) y = Mul (x, a) }",
        root=ROOT["root"],
        one=F(1),
    ),
    "clip-bounds/constant bounds": lambda: model(
        "g (float[4] x) => (float[4] y) { y = Clip (x, l, h) }", l=F(0), h=F(6)
    ),
    "default-activations/other ones": lambda: recurrent(["HardSigmoid", "Tanh", "Tanh"]),
    "gather-nd/computed indices": lambda: model(
        "g (float[2, 3] x, int64[4, 2] i) => (float[4] y) { y = GatherND (x, i) }"
    ),
    "hard-swish/another alpha": lambda: model(
        "g (float[4] x) => (float[4] y) { h = HardSigmoid (x) y = Mul (x, h) }"
    ),
    "two-pass-variance/another axis": variance(BY_MEAN.replace("[-1]", "[0]")),
}
