"""Constants that an NPU would not compute with as they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import ModelProto

from qnnbuild.work.onnx_files import read_whole
from qnnbuild.work.ranges import check_ranges
from qnnbuild.work.run import Run, WorkError
from tests.graphs import model

HERE = Path()
BIG = np.full((4, 4), -1e5, np.float32)


def run() -> Run:
    return Run(params={}, inputs={}, outputs={})


def test_a_weight_beyond_fp16_is_refused_with_its_node() -> None:
    made = model("g (float[1, 4] x) => (float[1, 4] y) { [m] y = MatMul (x, w) }", w=BIG)

    with pytest.raises(WorkError) as caught:
        check_ranges(run(), made, HERE, fp16=True)

    assert caught.value.message == (
        "the constant 'w' holds 100000, beyond the fp16 range of ±65504"
    )
    assert caught.value.facts == (("used by", "node 'm' (MatMul)"),)


def test_the_same_weight_is_fine_where_fp16_does_not_compute() -> None:
    here = run()
    check_ranges(
        here,
        model("g (float[1, 4] x) => (float[1, 4] y) { y = MatMul (x, w) }", w=BIG),
        HERE,
        fp16=False,
    )

    assert here.warnings == []


def test_a_mask_beyond_fp16_is_told() -> None:
    here = run()
    made = model(
        "g (float[1, 4] x) => (float[1, 4] y) { y = Add (x, mask) }",
        mask=np.array([[-1e9]], np.float32),
    )
    check_ranges(here, made, HERE, fp16=True)

    (notice,) = here.warnings
    assert notice.message == (
        "the constant 'mask' holds 1e+09, beyond the fp16 range of ±65504; fine for a mask, "
        "verify tells"
    )


def test_an_infinite_mask_is_fine() -> None:
    here = run()
    made = model(
        "g (float[1, 4] x) => (float[1, 4] y) { y = Add (x, mask) }",
        mask=np.array([[-np.inf]], np.float32),
    )
    check_ranges(here, made, HERE, fp16=True)

    assert here.warnings == []


def test_a_weight_in_a_side_file_is_looked_at_too(tmp_path: Path) -> None:
    made = model("g (float[1, 4] x) => (float[1, 4] y) { y = MatMul (x, w) }", w=BIG)
    onnx.save_model(
        made,
        str(tmp_path / "model.onnx"),
        save_as_external_data=True,
        location="m.data",
        size_threshold=0,
    )

    with pytest.raises(WorkError, match="'w' holds 100000"):
        check_ranges(run(), read_whole(tmp_path), tmp_path, fp16=True)


def test_a_count_beyond_int32_is_told() -> None:
    here = run()
    made = model(
        "g (int64[1] x) => (int64[1] y) { [a] y = Add (x, k) }", k=np.asarray([5_000_000_000])
    )
    check_ranges(here, made, HERE, fp16=True)

    assert [notice.message for notice in here.warnings] == [
        "the constant 'k' holds 5000000000, beyond int32: node 'a' (Add) gets it cut on the NPU"
    ]


def test_the_end_of_a_slice_may_be_beyond_int32() -> None:
    here = run()
    made = model(
        "g (float[4] x) => (float[3] y) { y = Slice (x, first, last) }",
        first=np.asarray([1]),
        last=np.asarray([2**63 - 1]),
    )
    check_ranges(here, made, HERE, fp16=True)

    assert here.warnings == []


def test_a_scale_of_zero_is_refused() -> None:
    made = model(
        "g (float[4] x) => (uint8[4] y) { [q] y = QuantizeLinear (x, s, z) }",
        s=np.asarray(0, np.float32),
        z=np.asarray(0, np.uint8),
    )

    with pytest.raises(WorkError) as caught:
        check_ranges(run(), made, HERE, fp16=False)

    assert caught.value.message == "the scale 's' is not greater than 0"
    assert caught.value.exit_code == 2
    assert caught.value.facts == (
        ("used by", "node 'q' (QuantizeLinear)"),
        ("tensor", "x"),
        ("value", "0"),
    )


def by_channel(scales: list[float], zeros: list[int], dtype: type) -> ModelProto:
    return model(
        "g (float[1, 4] x) => (float[1, 3] y) {"
        " [d] f = DequantizeLinear <axis = 1> (w, s, z) y = MatMul (x, f) }",
        w=np.zeros((4, 3), dtype),
        s=np.asarray(scales, np.float32),
        z=np.asarray(zeros, dtype),
    )


def test_the_channel_of_a_scale_of_zero_is_told() -> None:
    made = by_channel([0.1, 0.2, np.nan], [0, 0, 0], np.int8)

    with pytest.raises(WorkError, match="the scale 's' is not greater than 0") as caught:
        check_ranges(run(), made, HERE, fp16=False)

    assert caught.value.facts == (
        ("used by", "node 'd' (DequantizeLinear)"),
        ("tensor", "w"),
        ("channel", "2, the first of 1 in 3"),
        ("value", "nan"),
    )


def test_zero_points_for_each_channel_must_be_the_middle() -> None:
    made = by_channel([0.1, 0.1, 0.1], [0, 3, -1], np.int8)

    with pytest.raises(WorkError) as caught:
        check_ranges(run(), made, HERE, fp16=False)

    assert caught.value.message == ("the zero points 'z' are one for each channel and not all 0")
    assert caught.value.facts == (
        ("used by", "node 'd' (DequantizeLinear)"),
        ("tensor", "w"),
        ("channel", "1, the first of 2 in 3"),
        ("value", "3"),
    )


def test_the_middle_of_an_unsigned_type_is_no_zero() -> None:
    here = run()
    check_ranges(here, by_channel([0.1] * 3, [128] * 3, np.uint8), HERE, fp16=False)

    assert here.warnings == []
