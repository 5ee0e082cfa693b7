"""Specs of operators with weights, windows, sequences and inner graphs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tools.atlas.models import Spec, Tensor
from tools.atlas.specs import FLOATING, IMAGE, INDEX, ONLY_FLOAT, ROWS, X, given, scalar, spec

VOLUME = (1, 4, 4, 8, 8)


def weight(*shape: int) -> Tensor:
    return Tensor(shape=shape, low=-0.5, high=0.5, constant=True)


def convolutions() -> Iterator[Spec]:
    yield spec("Conv", "y = Conv (x, w)", {**X, "w": weight(4, 4, 3, 3)}, forms=FLOATING)
    yield spec(
        "Conv",
        "y = Conv (x, w)",
        {"x": Tensor(shape=(1, 4, 16)), "w": weight(4, 4, 3)},
        variant="1d",
        forms=FLOATING,
    )
    yield spec(
        "Conv",
        "y = Conv (x, w)",
        {"x": Tensor(shape=VOLUME), "w": weight(4, 4, 3, 3, 3)},
        variant="3d",
        forms=FLOATING,
    )
    yield spec(
        "Conv",
        "y = Conv <group = 4> (x, w)",
        {**X, "w": weight(4, 1, 3, 3)},
        variant="depthwise",
        forms=FLOATING,
    )
    yield spec(
        "Conv",
        "y = Conv (x, w)",
        {**X, "w": Tensor(shape=(4, 4, 3, 3))},
        variant="weights not constant",
        forms=("f32", "a8"),
    )
    yield spec(
        "ConvTranspose", "y = ConvTranspose (x, w)", {**X, "w": weight(4, 4, 3, 3)}, forms=FLOATING
    )
    yield spec(
        "ConvTranspose",
        "y = ConvTranspose (x, w)",
        {"x": Tensor(shape=VOLUME), "w": weight(4, 4, 3, 3, 3)},
        variant="3d",
        forms=FLOATING,
    )
    for name in ("AveragePool", "MaxPool"):
        yield spec(
            name, f"y = {name} <kernel_shape = [2, 2], strides = [2, 2]> (x)", forms=FLOATING
        )
        yield spec(
            name,
            f"y = {name} <kernel_shape = [2], strides = [2]> (x)",
            {"x": Tensor(shape=ROWS)},
            variant="1d",
            forms=FLOATING,
        )
        yield spec(
            name,
            f"y = {name} <kernel_shape = [2, 2, 2], strides = [2, 2, 2]> (x)",
            {"x": Tensor(shape=VOLUME)},
            variant="3d",
            forms=FLOATING,
        )
    yield spec(
        "MaxPool",
        "y, i = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)",
        outputs={"y": None, "i": "int64"},
        variant="with indices",
        forms=("f32",),
    )
    yield spec(
        "AveragePool",
        "y = AveragePool <kernel_shape = [2, 2], strides = [2, 2], ceil_mode = 1> (x)",
        {"x": Tensor(shape=(1, 4, 7, 7))},
        variant="ceil_mode=1",
        forms=("f32", "a8"),
    )
    for p, claim in ((2, "npu"), (1, "npu"), (3, "cpu")):
        yield spec(
            "LpPool",
            f"y = LpPool <kernel_shape = [2, 2], strides = [2, 2], p = {p}> (x)",
            variant="" if p == 2 else f"p={p}",
            forms=FLOATING if p == 2 else ("f32",),
            claim=claim,
        )
    yield spec(
        "LpPool",
        "y = LpPool <kernel_shape = [2, 2, 2], p = 2> (x)",
        {"x": Tensor(shape=VOLUME)},
        variant="3d",
        forms=("f32",),
        claim="cpu",
    )


def matrices() -> Iterator[Spec]:
    yield spec(
        "Gemm",
        "y = Gemm <transB = 1> (x, w)",
        {"x": Tensor(shape=(2, 16)), "w": weight(8, 16)},
        forms=FLOATING,
    )
    two = {"x": Tensor(shape=ROWS), "b": Tensor(shape=(1, 16, 8))}
    yield spec(
        "MatMul",
        "y = MatMul (x, w)",
        {"x": Tensor(shape=ROWS), "w": weight(16, 8)},
        forms=(*FLOATING, "i32"),
    )
    yield spec("MatMul", "y = MatMul (x, b)", two, variant="no constant", forms=FLOATING)
    yield spec(
        "com.microsoft:FusedMatMul",
        "y = com.microsoft.FusedMatMul <alpha = 0.5> (x, b)",
        two,
        forms=("f32", "a8"),
    )
    yield spec(
        "com.microsoft:FusedMatMul",
        "y = com.microsoft.FusedMatMul <alpha = 0.5, transB = 1> (x, b)",
        {"x": Tensor(shape=ROWS), "b": Tensor(shape=ROWS)},
        variant="transB=1",
        forms=("f32",),
    )
    yield from nbits()
    byte = {
        "a": Tensor(shape=(4, 16), dtype="uint8", low=0, high=255),
        "b": Tensor(
            shape=(16, 8), dtype="uint8", value=np.arange(128, dtype=np.uint8).reshape(16, 8)
        ),
    }
    yield spec(
        "MatMulInteger",
        "y = MatMulInteger (a, b)",
        byte,
        outputs={"y": "int32"},
        forms=("f32",),
        claim="cpu",
    )
    conv = {
        "a": Tensor(shape=IMAGE, dtype="uint8", low=0, high=255),
        "b": Tensor(
            shape=(4, 4, 3, 3),
            dtype="uint8",
            value=np.arange(144, dtype=np.uint8).reshape(4, 4, 3, 3),
        ),
    }
    yield spec(
        "ConvInteger",
        "y = ConvInteger (a, b)",
        conv,
        outputs={"y": "int32"},
        forms=("f32",),
        claim="cpu",
    )
    yield spec(
        "DynamicQuantizeLinear",
        "y, s, z = DynamicQuantizeLinear (x)",
        outputs={"y": "uint8", "s": "float32", "z": "uint8"},
        forms=("f32",),
        claim="cpu",
    )
    for kind, zero in (("uint8", 128), ("int8", 0)):
        told = {f"{n}s": scalar(0.02, "float32") for n in "aby"} | {
            f"{n}z": scalar(zero, kind) for n in "aby"
        }
        sides = {
            "a": Tensor(shape=(4, 16), dtype=kind, low=0, high=100),
            "b": Tensor(
                shape=(16, 8), dtype=kind, value=np.arange(128).reshape(16, 8).astype(kind)
            ),
        }
        yield spec(
            "QLinearMatMul",
            "y = QLinearMatMul (a, as, az, b, bs, bz, ys, yz)",
            {**sides, **told},
            outputs={"y": kind},
            variant=kind,
            forms=("f32",),
        )


def nbits() -> Iterator[Spec]:
    packed = Tensor(
        shape=(8, 1, 16), dtype="uint8", value=np.arange(128, dtype=np.uint8).reshape(8, 1, 16)
    )
    scales = Tensor(shape=(8,), value=np.full(8, 0.05, np.float32), dtype="float32")
    zeros = Tensor(shape=(8,), dtype="uint8", value=np.full(8, 0x88, np.uint8))
    body = "y = com.microsoft.MatMulNBits <K = 32, N = 8, bits = 4, block_size = 32> (x, w, s"
    parts = {"x": Tensor(shape=(1, 4, 32)), "w": packed, "s": scales}
    yield spec("com.microsoft:MatMulNBits", f"{body})", parts, forms=("f32",))
    yield spec(
        "com.microsoft:MatMulNBits",
        f"{body}, z)",
        {**parts, "z": zeros},
        variant="zero points",
        forms=("f32",),
    )


def quantizers() -> Iterator[Spec]:
    for domain in ("", "com.microsoft."):
        name = f"{domain[:-1] or 'ai.onnx'}:"
        for kind, zero in (("uint8", 128), ("int8", 0), ("uint16", 32768), ("int16", 0)):
            told = {"s": scalar(0.02, "float32"), "z": scalar(zero, kind)}
            yield spec(
                f"{name}QuantizeLinear",
                f"e = Exp (x)  y = {domain}QuantizeLinear (e, s, z)",
                {**X, **told},
                outputs={"y": kind},
                variant=kind,
                forms=("f32",),
            )
            whole_input = Tensor(shape=IMAGE, dtype=kind, low=max(zero - 100, 0), high=zero + 100)
            yield spec(
                f"{name}DequantizeLinear",
                f"d = {domain}DequantizeLinear (x, s, z)  y = Exp (d)",
                {"x": whole_input, **told},
                outputs={"y": "float32"},
                variant=kind,
                forms=("f32",),
            )


def norms() -> Iterator[Spec]:
    four = {n: Tensor(shape=(4,), low=0.5, high=1.5, constant=True) for n in ("s", "b", "m", "v")}
    last = {n: Tensor(shape=(16,), low=0.5, high=1.5, constant=True) for n in ("s", "b")}
    rows = {"x": Tensor(shape=ROWS)}
    yield spec(
        "BatchNormalization",
        "y = BatchNormalization (x, s, b, m, v)",
        {**X, **four},
        forms=FLOATING,
    )
    yield spec(
        "InstanceNormalization",
        "y = InstanceNormalization (x, s, b)",
        {**X, "s": four["s"], "b": four["b"]},
        forms=FLOATING,
    )
    yield spec(
        "LayerNormalization", "y = LayerNormalization (x, s, b)", {**rows, **last}, forms=FLOATING
    )
    yield spec(
        "GroupNormalization",
        "y = GroupNormalization <num_groups = 2> (x, s, b)",
        {**X, "s": four["s"], "b": four["b"]},
        forms=FLOATING,
    )
    yield spec(
        "RMSNormalization",
        "y = RMSNormalization (x, s)",
        {**rows, "s": last["s"]},
        opset=23,
        forms=FLOATING,
    )
    yield spec(
        "com.microsoft:SimplifiedLayerNormalization",
        "y = SimplifiedLayerNormalization (x, s)",
        {**rows, "s": last["s"]},
        variant="ai.onnx:SimplifiedLayerNormalization",
        forms=("f32", "a8"),
    )
    yield spec("LRN", "y = LRN <size = 3> (x)", forms=FLOATING)
    yield spec("LpNormalization", "y = LpNormalization <p = 2, axis = -1> (x)", forms=FLOATING)
    yield spec(
        "LpNormalization",
        "y = LpNormalization <p = 1, axis = -1> (x)",
        variant="p=1",
        forms=("f32",),
        claim="cpu",
    )


def pictures() -> Iterator[Spec]:
    scales = Tensor(shape=(4,), value=np.array([1, 1, 2, 2], np.float32), dtype="float32")
    told = {**X, "k": scales}

    def resized(  # noqa: PLR0917 - rows of a table
        mode: str,
        where: str,
        variant: str,
        forms: tuple[str, ...] = FLOATING,
        claim: str = "npu",
        nearest: str = "floor",
        x: Tensor = X["x"],
        k: Tensor = scales,
    ) -> Spec:
        body = f'y = Resize <mode = "{mode}", coordinate_transformation_mode = "{where}", nearest_mode = "{nearest}"> (x, , k)'
        return spec("Resize", body, {"x": x, "k": k}, variant=variant, forms=forms, claim=claim)

    yield resized("linear", "half_pixel", "")
    yield resized("nearest", "asymmetric", "nearest, asymmetric")
    yield resized(
        "nearest", "half_pixel", "nearest, half_pixel", ("f32", "a8"), nearest="round_prefer_floor"
    )
    yield resized("linear", "align_corners", "linear, align_corners", ("f32", "a8"))
    yield resized("linear", "pytorch_half_pixel", "linear, pytorch_half_pixel", ("f32",))
    yield resized("cubic", "half_pixel", "cubic", ("f32", "a8"))
    yield resized("nearest", "tf_half_pixel_for_nn", "tf_half_pixel_for_nn", ("f32",))
    yield resized(
        "nearest",
        "tf_half_pixel_for_nn",
        "tf_half_pixel_for_nn, ceil",
        ("f32",),
        "cpu",
        nearest="ceil",
    )
    yield resized("linear", "tf_half_pixel_for_nn", "tf_half_pixel_for_nn, linear", ("f32",), "cpu")
    three = Tensor(shape=(3,), value=np.array([1, 1, 2], np.float32), dtype="float32")
    yield resized("nearest", "asymmetric", "rank 3", ("f32",), x=Tensor(shape=ROWS), k=three)
    yield spec("Upsample", 'y = Upsample <mode = "nearest"> (x, k)', told, opset=9, forms=("f32",))
    grid = {**X, "g": Tensor(shape=(1, 8, 8, 2), low=-1, high=1)}
    for mode in ("linear", "nearest", "cubic"):
        yield spec(
            "GridSample",
            f'y = GridSample <mode = "{mode}"> (x, g)',
            grid,
            variant="" if mode == "linear" else mode,
            forms=FLOATING if mode == "linear" else ("f32", "a8"),
        )
    rois = {
        **X,
        "r": Tensor(
            shape=(2, 4), value=np.array([[0, 0, 4, 4], [1, 1, 6, 6]], np.float32), dtype="float32"
        ),
        "i": given(0, 0),
    }
    size = "output_height = 4, output_width = 4"
    yield spec("RoiAlign", f"y = RoiAlign <{size}> (x, r, i)", rois, forms=("f32", "a8", "a16"))
    yield spec(
        "RoiAlign",
        f'y = RoiAlign <{size}, mode = "max"> (x, r, i)',
        rois,
        variant="mode=max",
        forms=("f32",),
    )
    yield from suppression()


def suppression() -> Iterator[Spec]:
    boxes = {
        "b": Tensor(shape=(1, 16, 4), low=0, high=1, dtype="float32"),
        "c": Tensor(shape=(1, 1, 16), low=0, high=1, dtype="float32"),
    }
    ends = {
        "k": given(4),
        "iou": Tensor(shape=(1,), value=np.array([0.5]), dtype=None),
        "t": Tensor(shape=(1,), value=np.array([0.1])),
    }
    body = "y = NonMaxSuppression{} (b, c, k, iou, t)"
    tensors = {**boxes, **ends}
    yield spec(
        "NonMaxSuppression",
        "y = NonMaxSuppression (b, c, k, iou, t)",
        {**boxes, **ends},
        outputs=INDEX,
        forms=("f32",),
        compared=False,
        sizes={"y": (4, 3)},
    )
    yield spec(
        "NonMaxSuppression",
        "y = NonMaxSuppression (b, c, k, iou, t)",
        {**boxes, **ends},
        outputs=INDEX,
        variant="size unknown",
        forms=("f32",),
        compared=False,
    )
    yield spec(
        "NonMaxSuppression",
        body.format(" <center_point_box = 1>"),
        tensors,
        outputs=INDEX,
        variant="center_point_box=1",
        forms=("f32",),
        claim="cpu",
        sizes={"y": (4, 3)},
        compared=False,
    )
    yield spec(
        "NonMaxSuppression",
        body.format(""),
        {**tensors, "t": Tensor(shape=(1,), low=0.1, high=0.1)},
        outputs=INDEX,
        variant="score_threshold not constant",
        forms=("f32",),
        claim="cpu",
        sizes={"y": (4, 3)},
        compared=False,
    )


def sequences() -> Iterator[Spec]:
    for name, gates in (("GRU", 3), ("LSTM", 4)):
        outputs: dict[str, str | None] = {"y": None, "h": None}
        cell = "c" if name == "LSTM" else ""
        parts = {
            "x": Tensor(shape=(4, 1, 8)),
            "w": weight(1, gates * 16, 8),
            "r": weight(1, gates * 16, 16),
        }
        tail = ", h, c" if name == "LSTM" else ", h"
        body = f"y{tail} = {name} <hidden_size = 16> (x, w, r)"
        outputs |= {"c": None} if cell else {}
        yield spec(name, body, parts, outputs=outputs, forms=FLOATING)
        state = {"h0": Tensor(shape=(1, 1, 16))} | (
            {"c0": Tensor(shape=(1, 1, 16))} if cell else {}
        )
        given_state = ", h0, c0" if cell else ", h0"
        claim = "npu" if cell else "cpu"
        yield spec(
            name,
            body.replace("(x, w, r)", f"(x, w, r, , {given_state})"),
            {**parts, **state},
            outputs=outputs,
            variant="initial state",
            forms=("f32",),
            claim=claim,
        )
        batch_first = body.replace("hidden_size", "layout = 1, hidden_size")
        yield spec(
            name,
            batch_first,
            {**parts, "x": Tensor(shape=(1, 4, 8))},
            outputs=outputs,
            variant="layout=1",
            forms=("f32",),
            claim="npu" if cell else "cpu",
        )
    yield spec(
        "GRU",
        "y, h = GRU <hidden_size = 16, clip = 1.0> (x, w, r)",
        {"x": Tensor(shape=(4, 1, 8)), "w": weight(1, 48, 8), "r": weight(1, 48, 16)},
        outputs={"y": None, "h": None},
        variant="clip",
        forms=("f32",),
        claim="cpu",
    )
    yield spec(
        "GRU",
        "y, h = GRU <hidden_size = 16, linear_before_reset = 1> (x, w, r)",
        {"x": Tensor(shape=(4, 1, 8)), "w": weight(1, 48, 8), "r": weight(1, 48, 16)},
        outputs={"y": None, "h": None},
        variant="linear_before_reset=1",
        forms=("f32",),
    )
    both = 'y, h = GRU <hidden_size = 16, direction = "bidirectional"> (x, w, r)'
    yield spec(
        "GRU",
        both,
        {"x": Tensor(shape=(4, 1, 8)), "w": weight(2, 48, 8), "r": weight(2, 48, 16)},
        outputs={"y": None, "h": None},
        variant="bidirectional",
        forms=("f32",),
    )


def attention() -> Iterator[Spec]:
    table = {n: Tensor(shape=(8, 4), low=-1, high=1, constant=True) for n in ("cos", "sin")}
    heads = {
        "x": Tensor(shape=(1, 2, 8, 8)),
        **table,
        "p": Tensor(shape=(1, 8), value=np.arange(8)[None], dtype="int64"),
    }
    yield spec(
        "RotaryEmbedding", "y = RotaryEmbedding (x, cos, sin, p)", heads, opset=23, forms=FLOATING
    )
    yield spec(
        "com.microsoft:RotaryEmbedding",
        "y = com.microsoft.RotaryEmbedding (x, p, cos, sin)",
        heads,
        forms=("f32", "a8"),
    )
    query = {n: Tensor(shape=(1, 8, 16)) for n in ("q", "k", "v")}
    past = {n: Tensor(shape=(1, 1, 8, 16)) for n in ("pk", "pv")}
    told = {
        "l": Tensor(shape=(1,), value=np.array([7], np.int32), dtype="int32"),
        "t": Tensor(shape=(1,), value=np.array([8], np.int32), dtype="int32"),
    }
    yield spec(
        "com.microsoft:GroupQueryAttention",
        "y, a, b = com.microsoft.GroupQueryAttention <num_heads = 1, kv_num_heads = 1> (q, k, v, pk, pv, l, t)",
        {**query, **past, **told},
        outputs={"y": None, "a": None, "b": None},
        forms=("f32",),
        claim="cpu",
        compared=False,
    )
    data = Tensor(shape=(8, 16), dtype="uint8", value=np.arange(128, dtype=np.uint8).reshape(8, 16))
    yield spec(
        "com.microsoft:GatherBlockQuantized",
        "y = com.microsoft.GatherBlockQuantized <bits = 4, block_size = 16, quantize_axis = 1> (d, i, s)",
        {
            "d": data,
            "i": Tensor(shape=(3,), dtype="int64", low=0, high=7),
            "s": Tensor(shape=(8, 2), value=np.full((8, 2), 0.05), dtype=None),
        },
        forms=("f32",),
        claim="cpu",
    )


def rest() -> Iterator[Spec]:
    yield from branches()
    inverse = (
        "y = com.microsoft.Inverse (x)"  # ONNX has no such operator; the documentation says it has
    )
    yield spec(
        "ai.onnx:Inverse",
        inverse,
        {"x": Tensor(shape=(1, 2, 2))},
        variant="com.microsoft:Inverse",
        forms=("f32", "a8"),
    )
    yield spec(
        "ai.onnx:Inverse",
        inverse,
        {"x": Tensor(shape=(1, 4, 4))},
        variant="com.microsoft:Inverse, 4x4",
        forms=("f32",),
    )
    for name in ("RandomNormalLike", "RandomUniformLike"):
        yield spec(name, f"y = {name} (x)", forms=ONLY_FLOAT, compared=False)
    parts = {
        "x": Tensor(shape=(1, 64, 1)),
        "st": Tensor(shape=(), value=np.array(16), dtype="int64"),
        "w": Tensor(shape=(16,), value=np.hanning(16)),
        "n": Tensor(shape=(), value=np.array(16), dtype="int64"),
    }
    yield spec("STFT", "y = STFT (x, st, w, n)", parts, forms=("f32", "a8"))


def branches() -> Iterator[Spec]:
    cond = {"x": Tensor(shape=IMAGE), "c": Tensor(shape=(), dtype="bool")}
    same = "y = If (c) <then_branch = t () => (float[1, 4, 8, 8] a) { a = Relu (x) }, else_branch = e () => (float[1, 4, 8, 8] b) { b = Neg (x) }>"
    yield spec("If", same, cond, forms=("f32",))
    two = "y, z = If (c) <then_branch = t () => (float[1, 4, 8, 8] a, float[1, 4, 8, 8] a2) { a = Relu (x) a2 = Abs (x) }, else_branch = e () => (float[1, 4, 8, 8] b, float[1, 4, 8, 8] b2) { b = Neg (x) b2 = Exp (x) }>"
    yield spec(
        "If",
        two,
        cond,
        outputs={"y": None, "z": None},
        variant="two outputs",
        forms=("f32",),
        claim="cpu",
    )
