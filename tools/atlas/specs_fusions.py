"""The documented fusions, each as it is documented, and those that the plugin has besides."""

from __future__ import annotations

from collections.abc import Iterator

import ml_dtypes
import numpy as np

from tools.atlas.models import Spec, Tensor
from tools.atlas.specs import FLOATING, IMAGE, ROWS, X, given, scalar
from tools.atlas.specs_heavy import weight

BYTES = np.arange(128, dtype=np.uint8).reshape(16, 8)
FLOAT = ("f32",)
QDQ_TOO = ("f32", "f16", "a8", "a16")


def number(value: float) -> Tensor:
    return Tensor(shape=(), value=np.array(value))


def fused(kind: str, body: str, tensors: dict[str, Tensor], **more: object) -> Spec:
    more = {"forms": FLOAT, "claim": "fused", **more}
    return Spec(name=kind, fusion=kind, body=body, tensors=tensors, **more)  # type: ignore[arg-type] # said as keywords


def quantizing() -> Iterator[Spec]:
    eight = {"s": scalar(0.02, "float32"), "z": scalar(128, "uint8")}
    sixteen = {"s2": scalar(0.0001, "float32"), "z2": scalar(32768, "uint16")}
    first = "a = QuantizeLinear (x, s, z)  b = DequantizeLinear (a, s, z)"
    yield fused(
        "DQQFusion",
        f"{first}  c = QuantizeLinear (b, s2, z2)  y = DequantizeLinear (c, s2, z2)",
        {**X, **eight, **sixteen},
    )
    yield fused(
        "DqlDqFusion",
        "q, s, z = DynamicQuantizeLinear (x)  d = DequantizeLinear (q, s, z)  y = Relu (d)",
        X,
    )
    flags = {"x": Tensor(shape=IMAGE, dtype="bool")}
    yield fused(
        "CastLoneQFusion",
        "r = Not (x)  c = Cast <to = 1> (r)  q = QuantizeLinear (c, s, z)  y = DequantizeLinear (q, s, z)",
        {**flags, **eight},
    )
    yield from dynamic()
    yield from blocks()


def dynamic() -> Iterator[Spec]:
    told = {"ws": scalar(0.02, "float32"), "wz": scalar(0, "int8")}
    tail = "f = Cast <to = 1> (i)  k = Mul (s, ws)"
    begin = "q, s, z = DynamicQuantizeLinear (x)"
    bias = Tensor(shape=(8,), constant=True)
    weights = Tensor(shape=(16, 8), value=(BYTES.astype(int) - 64).astype(np.int8), dtype="int8")
    matrix = f"{begin}  i = MatMulInteger (q, w, z, wz)  {tail}"
    parts = {"x": Tensor(shape=ROWS), "w": weights, **told}
    yield fused("DQMatMulIntegerFusion", f"{matrix}  y = Mul (f, k)", parts)
    yield fused(
        "DQMatMulIntegerFusion",
        f"{matrix}  m = Mul (f, k)  y = Add (m, b)",
        {**parts, "b": bias},
        variant="with Add",
    )
    kernel = Tensor(
        shape=(4, 4, 3, 3),
        dtype="int8",
        value=(np.arange(144) - 72).astype(np.int8).reshape(4, 4, 3, 3),
    )
    window = f"{begin}  i = ConvInteger (q, w, z, wz)  {tail}"
    yield fused("DQConvIntegerFusion", f"{window}  y = Mul (f, k)", {**X, "w": kernel, **told})
    channels = Tensor(shape=(1, 4, 1, 1), constant=True)
    yield fused(
        "DQConvIntegerFusion",
        f"{window}  m = Mul (f, k)  y = Add (m, b)",
        {**X, "w": kernel, **told, "b": channels},
        variant="with Add",
    )


def blocks() -> Iterator[Spec]:
    """Block scales are whole numbers with a float scale for each channel."""
    numbers = np.random.default_rng(3)
    sixteen = {"s": scalar(0.0001, "float32"), "z": scalar(32768, "uint16")}
    block = {
        "bs": Tensor(
            shape=(4, 16), dtype="uint8", value=numbers.integers(1, 15, (4, 16)).astype(np.uint8)
        ),
        "cs": Tensor(shape=(16,), dtype="float32", value=np.full(16, 0.01, np.float32)),
        "cz": Tensor(shape=(16,), dtype="uint8", value=np.zeros(16, np.uint8)),
        "wz": Tensor(shape=(4, 16), dtype="int4", value=np.zeros((4, 16), ml_dtypes.int4)),
        "w": Tensor(shape=(16, 16), value=numbers.uniform(-0.3, 0.3, (16, 16))),
    }
    begin = "xq = QuantizeLinear (x, s, z)  xd = DequantizeLinear (xq, s, z)  ks = DequantizeLinear <axis = 1> (bs, cs, cz)"
    quantized = "wq = QuantizeLinear <axis = 0, block_size = 4> (w, ks, wz)"
    weights = "wd = DequantizeLinear <axis = 0, block_size = 4> (wq, ks, wz)"
    end = "yq = QuantizeLinear (m, s, z)  y = DequantizeLinear (yq, s, z)"
    parts = {"x": Tensor(shape=(1, 16)), **sixteen, **block}
    yield fused(
        "LowPowerBlockQuantizedGemmFusion",
        f"{begin}  {quantized}  {weights}  m = Gemm (xd, wd, b)  {end}",
        {**parts, "b": Tensor(shape=(16,), constant=True)},
    )
    yield fused(
        "LowPowerBlockQuantizedMatMulFusion",
        f"{begin}  {quantized}  {weights}  m = MatMul (xd, wd)  {end}",
        parts,
    )


def activations() -> Iterator[Spec]:
    told = {"r": number(1.41421356), "one": number(1.0), "half": number(0.5)}
    erf = "d = Div (x, r)  e = Erf (d)  p = Add (e, one)"
    yield fused(
        "GeluFusion", f"{erf}  m = Mul (x, p)  y = Mul (m, half)", {**X, **told}, forms=QDQ_TOO
    )
    yield fused(
        "GeluFusion",
        f"{erf}  h = Mul (x, half)  y = Mul (h, p)",
        {**X, **told},
        variant="Mul 0.5 first",
        forms=("f32",),
    )
    yield fused(
        "GeluFusion",
        "d = Mul (x, r)  e = Erf (d)  p = Add (e, one)  m = Mul (x, p)  y = Mul (m, half)",
        {**X, **told, "r": number(0.70710678)},
        variant="Mul by 1/√2",
        forms=("f32",),
    )
    cube = "a = Mul (x, x)  b = Mul (a, x)  c = Mul (b, k)  s = Add (x, c)  q = Mul (s, r)  t = Tanh (q)  p = Add (t, one)  m = Mul (x, p)  y = Mul (m, half)"
    yield fused(
        "TanhGeluFusion", cube, {**X, **told, "k": number(0.044715), "r": number(0.7978845608)}
    )
    hard = "h = HardSigmoid <alpha = 0.16666667, beta = 0.5> (x)  y = Mul (x, h)"
    yield fused("HardSigmoidMulFusion", hard, X, forms=QDQ_TOO)
    other = "h = HardSigmoid <alpha = 0.2, beta = 0.5> (x)  y = Mul (x, h)"
    yield fused("HardSigmoidMulFusion", other, X, variant="alpha = 0.2", claim="not fused")
    yield fused(
        "ScaleSoftmaxFusion",
        "m = Mul (x, k)  y = Softmax (m)",
        {**X, "k": number(0.25)},
        forms=QDQ_TOO,
    )
    vector = Tensor(shape=(8,), constant=True)
    yield fused(
        "ScaleSoftmaxFusion",
        "m = Mul (x, k)  y = Softmax (m)",
        {**X, "k": vector},
        variant="no scalar",
        claim="not fused",
    )


def norms() -> Iterator[Spec]:
    parts = {"x": Tensor(shape=ROWS), "e": number(1e-5), "two": number(2.0), "axes": given(-1)}
    affine = {n: Tensor(shape=(16,), low=0.5, high=1.5, constant=True) for n in ("g", "h")}
    body = "m = ReduceMean (x, axes)  s = Sub (x, m)  p = Pow (s, two)  v = ReduceMean (p, axes)  a = Add (v, e)  q = Sqrt (a)  d = Div (s, q)"
    yield fused("LayerNormFusion", f"{body}  t = Mul (d, g)  y = Add (t, h)", {**parts, **affine})
    yield fused(
        "LayerNormFusion",
        body.replace("  d = Div", "  y = Div"),
        parts,
        variant="without gamma and beta",
        claim="not fused",
    )
    norm = "n = ReduceL2 (x, axes)  c = Clip (n, e)  w = Expand (c, shape)  y = Div (x, w)"
    small = {"x": Tensor(shape=ROWS), "axes": given(-1), "e": number(1e-6), "shape": given(*ROWS)}
    yield fused("L2NormFusion", norm, small, claim="undocumented")


def reshaping() -> Iterator[Spec]:
    parts = {"x": Tensor(shape=ROWS), "s": given(8, 16), "w": weight(16, 4), "b": weight(4)}
    body = "r = Reshape (x, s)  g = Gemm (r, w, b)"
    yield fused(
        "ReshapeGemmFusionGroup", body.replace("  g =", "  y ="), parts, forms=("f32", "f16")
    )
    yield fused(
        "ReshapeGemmFusionGroup",
        f"{body}  y = Reshape (g, t)",
        {**parts, "t": given(1, 8, 4)},
        variant="and Reshape",
        forms=("f32", "f16"),
    )
    yield fused(
        "ReshapeGemmFusionGroup",
        f"{body}  h = Reshape (g, t)  y = Reshape (h, u)",
        {**parts, "t": given(1, 8, 4), "u": given(1, 2, 4, 4)},
        variant="and two Reshapes",
        forms=("f32", "f16"),
    )
    first, back = "Transpose <perm = [0, 2, 3, 1]>", "Transpose <perm = [0, 3, 1, 2]>"
    shuffle = f"a = {first} (x)  b = Reshape (a, s)  c = Transpose <perm = [0, 1, 2, 4, 3]> (b)  d = Reshape (c, t)  y = {back} (d)"
    yield fused(
        "ChannelShuffleFusion",
        shuffle,
        {**X, "s": given(1, 8, 8, 2, 2), "t": given(1, 8, 8, 4)},
        forms=FLOATING,
    )
    pixels = "a = Reshape (x, s)  b = Transpose <perm = {}> (a)  y = Reshape (b, t)"
    six, four = {"s": given(1, 4, 4, 2, 4, 2)}, {"t": given(1, 16, 4, 4)}
    yield fused(
        "SpaceToDepthFusion",
        pixels.format("[0, 3, 5, 1, 2, 4]"),
        {**X, **six, **four},
        variant="DCR",
        forms=FLOATING,
    )
    yield fused(
        "SpaceToDepthFusion",
        pixels.format("[0, 1, 3, 5, 2, 4]"),
        {**X, **six, **four},
        variant="CRD",
    )
    kernel = {"k": weight(4, 4, 1, 1)}
    behind = "c = Conv (x, k)  " + pixels.replace("(x, s)", "(c, s)")
    for how, order in (("DCR", "[0, 3, 5, 1, 2, 4]"), ("CRD", "[0, 1, 3, 5, 2, 4]")):
        yield fused(
            "SpaceToDepthFusion",
            behind.format(order),
            {**X, **six, **four, **kernel},
            variant=f"{how} behind a Conv",
            forms=FLOATING,
        )
    between = "p = Conv (x, k)  a = Reshape (p, s)  b = Transpose <perm = [0, 2, 1, 3, 4]> (a)  c = Reshape (b, t)  y = Conv (c, k)"
    yield fused(
        "ChannelShuffleFusion",
        between,
        {**X, **kernel, "s": given(1, 2, 2, 8, 8), "t": given(*IMAGE)},
        variant="between Convs",
        forms=FLOATING,
    )
    channels_last = {
        "x": Tensor(shape=(1, 8, 8, 4)),
        "s": given(1, 4, 2, 4, 2, 4),
        "t": given(1, 4, 4, 16),
    }
    yield fused(
        "SpaceToDepthFusion",
        pixels.format("[0, 1, 3, 2, 4, 5]"),
        channels_last,
        variant="NHWC, DCR",
    )
    einsum = 'a = Reshape (x, s)  b = Einsum <equation = "nhwpqc->nchpwq"> (a)  y = Reshape (b, t)'
    yield fused(
        "ReshapeEinsumReshapeNodeGroup",
        einsum,
        {"x": Tensor(shape=(1, 8, 8, 16)), "s": given(1, 8, 8, 2, 2, 4), "t": given(1, 4, 16, 16)},
    )
    units = "a = Reshape (x, s)  b = Transpose <perm = [0, 1, 3, 2, 4, 5]> (a)  y = Reshape (b, t)"
    yield fused(
        "Rank6ToRank5Fusion",
        units,
        {
            "x": Tensor(shape=(2, 2, 3, 4, 4)),
            "s": given(2, 1, 2, 3, 4, 4),
            "t": given(2, 3, 2, 4, 4),
        },
        forms=FLOATING,
    )
    index = Tensor(shape=(2, 2), value=np.array([[0, 1], [2, 3]]), dtype="int64")
    pick = "a = Gather <axis = 4> (x, i)  b = Transpose <perm = [0, 1, 2, 4, 3, 5]> (a)  y = Reshape (b, t)"
    yield fused(
        "GatherTransposeReshapeFusion",
        pick,
        {"x": Tensor(shape=(1, 2, 3, 4, 4)), "i": index, "t": given(1, 6, 8, 2)},
    )
    merge = f"a = {first} (x)  b = Reshape (a, s)  y = Transpose <perm = [0, 2, 1]> (b)"
    yield fused("ReshapeTransposeFusion", merge, {**X, "s": given(1, 64, 4)}, forms=FLOATING)


def all_fusions() -> Iterator[Spec]:
    yield from quantizing()
    yield from activations()
    yield from norms()
    yield from reshaping()
