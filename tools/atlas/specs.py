"""The documented operators, one spec for each and one more for each condition that they name."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tools.atlas.models import Array, Spec, Tensor

IMAGE = (1, 4, 8, 8)
ROWS = (1, 8, 16)
FLOATING = ("f32", "f16", "a8", "a16")
NUMBERS = ("f32", "f16", "i32", "i64", "a8", "a16")
ANY = ("f32", "f16", "i32", "i64", "bool", "a8", "a16")
ONLY_FLOAT = ("f32", "f16")
X = {"x": Tensor(shape=IMAGE)}
Y: dict[str, str | None] = {"y": None}
BOOL: dict[str, str | None] = {"y": "bool"}
INDEX: dict[str, str | None] = {"y": "int64"}

# operator → (lowest, highest) input; whatever needs no care has −2 to 2
ONE_INPUT = {
    "Abs": NUMBERS,
    "Asin": FLOATING,
    "Atan": FLOATING,
    "Ceil": FLOATING,
    "Cos": FLOATING,
    "Elu": FLOATING,
    "Exp": FLOATING,
    "Floor": FLOATING,
    "Gelu": FLOATING,
    "HardSigmoid": FLOATING,
    "HardSwish": FLOATING,
    "Identity": ANY,
    "LeakyRelu": FLOATING,
    "Log": FLOATING,
    "LogSoftmax": FLOATING,
    "Neg": NUMBERS,
    "Reciprocal": FLOATING,
    "Relu": NUMBERS,
    "Round": FLOATING,
    "Selu": FLOATING,
    "Sigmoid": FLOATING,
    "Sign": NUMBERS,
    "Sin": FLOATING,
    "Softmax": FLOATING,
    "Softplus": FLOATING,
    "Sqrt": FLOATING,
    "Tan": FLOATING,
    "Tanh": FLOATING,
    "ThresholdedRelu": FLOATING,
    "GlobalAveragePool": FLOATING,
    "GlobalMaxPool": FLOATING,
}
RANGES = {
    "Asin": (-0.9, 0.9),
    "Log": (0.1, 4.0),
    "Reciprocal": (0.5, 4.0),
    "Sqrt": (0.1, 4.0),
    "Tan": (-1, 1),
}
TWO_INPUTS = {
    "Add": NUMBERS,
    "Sub": NUMBERS,
    "Mul": NUMBERS,
    "Div": NUMBERS,
    "Pow": NUMBERS,
    "Min": NUMBERS,
    "Max": NUMBERS,
    "Mean": FLOATING,
    "Sum": FLOATING,
}
COMPARED = {
    "Equal": ANY,
    "Greater": NUMBERS,
    "GreaterOrEqual": NUMBERS,
    "Less": NUMBERS,
    "LessOrEqual": NUMBERS,
}
REDUCED = {
    "ReduceL2": FLOATING,
    "ReduceMax": NUMBERS,
    "ReduceMean": NUMBERS,
    "ReduceMin": NUMBERS,
    "ReduceProd": NUMBERS,
    "ReduceSum": NUMBERS,
}


def whole(*values: int) -> Array:
    return np.array(values, np.int64)


def given(*values: int) -> Tensor:
    return Tensor(shape=(len(values),), value=whole(*values), dtype="int64")


def scalar(value: float, dtype: str) -> Tensor:
    return Tensor(shape=(), value=np.array(value, dtype), dtype=dtype)


def spec(
    operator: str, body: str, tensors: dict[str, Tensor] | None = None, **more: object
) -> Spec:
    """`operator` without a domain is ONNX's own."""
    name = operator if ":" in operator else f"ai.onnx:{operator}"
    return Spec(name=name, body=body, tensors=X if tensors is None else tensors, **more)  # type: ignore[arg-type] # said as keywords


def elementwise() -> Iterator[Spec]:
    for name, forms in ONE_INPUT.items():
        low, high = RANGES.get(name, (-2.0, 2.0))
        yield spec(
            name, f"y = {name} (x)", {"x": Tensor(shape=IMAGE, low=low, high=high)}, forms=forms
        )
    two = {"x": Tensor(shape=IMAGE), "b": Tensor(shape=IMAGE, low=1, high=3)}
    for name, forms in TWO_INPUTS.items():
        tensors = {"x": Tensor(shape=IMAGE, low=1, high=3), "b": two["b"]} if name == "Pow" else two
        yield spec(name, f"y = {name} (x, b)", tensors, forms=forms)
    for name, forms in COMPARED.items():
        yield spec(name, f"y = {name} (x, b)", two, outputs=BOOL, forms=forms)
    for name in ("And", "Or", "Xor"):
        yield spec(name, f"y = {name} (x, b)", two, forms=("bool",))
    yield spec("Not", "y = Not (x)", forms=("bool",))
    yield spec("Mod", "y = Mod <fmod = 1> (x, b)", two, variant="fmod=1", forms=ONLY_FLOAT)
    yield spec("Mod", "y = Mod (x, b)", two, forms=("i32", "i64"))
    yield spec("IsNaN", "y = IsNaN (x)", outputs=BOOL, forms=ONLY_FLOAT)
    yield spec("IsInf", "y = IsInf (x)", outputs=BOOL, forms=ONLY_FLOAT, claim="cpu")
    cond = Tensor(shape=IMAGE, dtype="bool")
    yield spec("Where", "y = Where (c, x, b)", {"c": cond, **two}, forms=ANY)
    slope = Tensor(shape=(4, 1, 1), constant=True)
    yield spec(
        "PRelu", "y = PRelu (x, w)", {**X, "w": slope}, forms=("f32", "f16", "i32", "a8", "a16")
    )
    ends = {
        "lo": Tensor(shape=(), value=np.array(-1.0)),
        "hi": Tensor(shape=(), value=np.array(1.0)),
    }
    yield spec("Clip", "y = Clip (x, lo, hi)", {**X, **ends}, forms=NUMBERS)
    moving = {"lo": Tensor(shape=(), low=-1, high=-1), "hi": Tensor(shape=(), low=1, high=1)}
    yield spec(
        "Clip",
        "y = Clip (x, lo, hi)",
        {**X, **moving},
        variant="bounds not constant",
        forms=("f32",),
    )
    for name in ("QuickGelu", "Gelu"):
        yield spec(f"com.microsoft:{name}", f"y = com.microsoft.{name} (x)")


def casts() -> Iterator[Spec]:
    for to, dtype in (
        (1, "float32"),
        (10, "float16"),
        (6, "int32"),
        (7, "int64"),
        (9, "bool"),
        (2, "uint8"),
    ):
        forms = tuple(
            f for f in ("f32", "f16", "i32", "i64", "bool") if not (f == "f32" and to == 1)
        )
        yield spec(
            "Cast",
            f"y = Cast <to = {to}> (x)",
            outputs={"y": dtype},
            variant=f"to {dtype}",
            forms=forms,
        )
    yield spec(
        "Cast",
        "y = Cast <to = 11> (x)",
        outputs={"y": "float64"},
        variant="to float64",
        forms=("f32",),
    )


def reductions() -> Iterator[Spec]:
    for name, forms in REDUCED.items():
        yield spec(name, f"y = {name} (x, axes)", {**X, "axes": given(-1)}, forms=forms)
    yield spec(
        "ReduceLogSumExp",
        "y = ReduceLogSumExp (x, axes)",
        {**X, "axes": given(-1)},
        forms=ONLY_FLOAT,
    )
    yield spec(
        "ReduceLogSumExp",
        "y = ReduceLogSumExp (x, axes)",
        {**X, "axes": given(-1)},
        forms=("a8", "a16"),
        claim="cpu",
    )
    for name in ("ArgMax", "ArgMin"):
        yield spec(
            name,
            f"y = {name} <axis = -1> (x)",
            outputs=INDEX,
            forms=("f32", "f16", "i32", "a8", "a16"),
        )
    yield spec("CumSum", "y = CumSum (x, axis)", {**X, "axis": scalar(1, "int64")}, forms=NUMBERS)
    yield spec(
        "TopK",
        "y, i = TopK (x, k)",
        {**X, "k": given(3)},
        outputs={"y": None, "i": "int64"},
        forms=NUMBERS,
    )
    moving = Tensor(shape=(1,), dtype="int64", low=3, high=3)
    yield spec(
        "TopK",
        "y, i = TopK (x, k)",
        {**X, "k": moving},
        outputs={"y": None, "i": "int64"},
        variant="k not constant",
        forms=("f32",),
    )


def shapes() -> Iterator[Spec]:
    yield spec("Concat", "y = Concat <axis = 1> (x, b)", {**X, "b": Tensor(shape=IMAGE)}, forms=ANY)
    for name in ("DepthToSpace", "SpaceToDepth"):
        yield spec(name, f"y = {name} <blocksize = 2> (x)", forms=FLOATING)
    yield spec(
        "Expand",
        "y = Expand (x, s)",
        {"x": Tensor(shape=(1, 4, 1, 8)), "s": given(*IMAGE)},
        forms=ANY,
    )
    yield spec("Flatten", "y = Flatten (x)", forms=ANY)
    yield spec("Reshape", "y = Reshape (x, s)", {**X, "s": given(4, 64)}, forms=ANY)
    ends = {"a": given(1, 0), "b": given(3, 8), "c": given(1, 3), "d": given(1, 2)}
    yield spec("Slice", "y = Slice (x, a, b, c, d)", {**X, **ends}, forms=ANY)
    moving = {**ends, "a": Tensor(shape=(2,), dtype="int64", low=0, high=0)}
    yield spec(
        "Slice",
        "y = Slice (x, a, b, c, d)",
        {**X, **moving},
        variant="starts not constant",
        forms=("f32",),
    )
    yield spec(
        "Split",
        "y, z = Split <axis = 1> (x, s)",
        {**X, "s": given(1, 3)},
        outputs={"y": None, "z": None},
        forms=ANY,
    )
    yield spec("Squeeze", "y = Squeeze (x, a)", {**X, "a": given(0)}, forms=ANY)
    yield spec("Unsqueeze", "y = Unsqueeze (x, a)", {**X, "a": given(0)}, forms=ANY)
    yield spec("Tile", "y = Tile (x, r)", {**X, "r": given(1, 2, 1, 1)}, forms=ANY)
    yield spec("Transpose", "y = Transpose <perm = [0, 2, 3, 1]> (x)", forms=ANY)
    yield spec("Shape", "y = Shape (x)", outputs=INDEX, forms=("f32",))
    yield spec(
        "Shape",
        "y = Shape <start = 1, end = 3> (x)",
        outputs=INDEX,
        forms=("f32",),
        variant="start and end",
    )
    yield spec(
        "Shape",
        "y = Shape <start = 3, end = 1> (x)",
        outputs=INDEX,
        forms=("f32",),
        variant="empty slice",
        claim="cpu",
    )
    for mode in ("constant", "reflect", "edge", "wrap"):
        pads = {**X, "p": given(0, 0, 1, 1, 0, 0, 1, 1)}
        forms = NUMBERS if mode == "constant" else FLOATING
        yield spec(
            "Pad",
            f'y = Pad <mode = "{mode}"> (x, p)',
            pads,
            variant="" if mode == "constant" else mode,
            forms=forms,
        )
    yield spec(
        "Einsum",
        'y = Einsum <equation = "bij,bjk->bik"> (x, b)',
        {"x": Tensor(shape=(1, 8, 16)), "b": Tensor(shape=(1, 16, 8))},
        forms=FLOATING,
    )
    yield spec(
        "Einsum",
        'y = Einsum <equation = "bij->bji"> (x)',
        {"x": Tensor(shape=ROWS)},
        variant="a transpose",
        forms=FLOATING,
    )
    yield spec(
        "Einsum",
        'y = Einsum <equation = "bij->bi"> (x)',
        {"x": Tensor(shape=ROWS)},
        variant="a sum",
        forms=("f32",),
    )


def picking() -> Iterator[Spec]:
    index = Tensor(shape=(3,), value=whole(0, 2, 1), dtype="int64")
    yield spec("Gather", "y = Gather <axis = 1> (x, i)", {**X, "i": index}, forms=ANY)
    behind = Tensor(shape=(3,), value=whole(0, -1, 1), dtype="int64")
    yield spec(
        "Gather",
        "y = Gather <axis = 1> (x, i)",
        {**X, "i": behind},
        variant="negative constant index",
        forms=("f32", "a8"),
        claim="cpu",
    )
    moving = Tensor(shape=(3,), dtype="int64", low=0, high=3)
    yield spec(
        "Gather",
        "y = Gather <axis = 1> (x, i)",
        {**X, "i": moving},
        variant="index not constant",
        forms=FLOATING,
    )
    small = Tensor(shape=(3,), dtype="int32", low=0, high=3)
    yield spec(
        "Gather",
        "y = Gather <axis = 1> (x, i)",
        {**X, "i": small},
        variant="int32 index not constant",
        forms=FLOATING,
    )
    each = Tensor(shape=IMAGE, dtype="int64", low=0, high=3)
    yield spec(
        "GatherElements", "y = GatherElements <axis = 1> (x, i)", {**X, "i": each}, forms=NUMBERS
    )
    places = Tensor(shape=(2, 2), value=np.array([[0, 1], [0, 3]]), dtype="int64")
    yield spec("GatherND", "y = GatherND (x, i)", {**X, "i": places}, forms=NUMBERS)
    moving = Tensor(shape=(2, 2), low=0, high=0, dtype="int64")
    yield spec(
        "GatherND",
        "y = GatherND (x, i)",
        {**X, "i": moving},
        variant="index not constant",
        forms=("f32",),
    )
    for how in ("none", "add", "mul", "min", "max"):
        forms = NUMBERS if how == "none" else ("f32", "a8")
        variant = "" if how == "none" else f"reduction={how}"
        update = Tensor(shape=IMAGE)
        yield spec(
            "ScatterElements",
            f'y = ScatterElements <axis = 1, reduction = "{how}"> (x, i, u)',
            {**X, "i": Tensor(shape=IMAGE, dtype="int64", low=0, high=3), "u": update},
            variant=variant,
            forms=forms,
        )
        yield spec(
            "ScatterND",
            f'y = ScatterND <reduction = "{how}"> (x, i, u)',
            {**X, "i": places, "u": Tensor(shape=(2, 8, 8))},
            variant=variant,
            forms=forms,
        )
    yield from one_hot()
    yield spec(
        "NonZero",
        "y = NonZero (x)",
        outputs=INDEX,
        variant="size unknown",
        forms=("f32", "i32", "bool"),
    )
    few = {"x": Tensor(shape=(4,), low=1, high=2)}
    yield spec(
        "NonZero", "y = NonZero (x)", few, outputs=INDEX, forms=("f32", "i32"), sizes={"y": (1, 4)}
    )


def one_hot() -> Iterator[Spec]:
    parts = {
        "i": Tensor(shape=(4,), dtype="int64", low=0, high=4),
        "d": scalar(5, "int64"),
        "v": Tensor(shape=(2,), value=np.array([0.0, 1.0])),
    }
    body = "y = OneHot (i, d, v)"
    yield spec("OneHot", body, parts, forms=("f32", "f16", "i32", "i64"))
    yield spec(
        "OneHot",
        body,
        {**parts, "i": Tensor(shape=(4,), dtype="float32", low=0, high=4)},
        variant="float indices",
        forms=("f32",),
        claim="cpu",
    )
    yield spec(
        "OneHot",
        body,
        {**parts, "v": Tensor(shape=(2,))},
        variant="values not constant",
        forms=("f32",),
        claim="cpu",
    )
