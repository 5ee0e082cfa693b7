"""Arrays of the model's as the binary has them, and back: names, orders, types."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from qnnbuild.formats.context_json import BorderTensor
from qnnbuild.work.qairt_tensors import Border, Kept, inputs_of, outputs_of
from qnnbuild.work.run import WorkError

NONE = Kept()


def tensor(name: str, dtype: str, *shape: int, **more: Any) -> BorderTensor:
    return BorderTensor(name=name, dtype=dtype, shape=shape, **more)


def border(dtype: str, *shape: int, order: tuple[int, ...] | None = None, **more: Any) -> Border:
    one = tensor("x", dtype, *shape, **more)
    return Border(name="x", tensor=one, order=order or tuple(range(len(shape))))


# --- types --------------------------------------------------------------------------------------


def test_floats_become_steps_of_the_scale_and_come_back() -> None:
    one = border("uint8", 4, scale=0.5, offset=-10)

    data = one.native(np.array([0.0, 1.0, -5.0, 3.2], np.float32))

    assert list(data) == [10, 12, 0, 16]
    assert one.plain(data).tolist() == [0.0, 1.0, -5.0, 3.0]
    assert one.plain(data).dtype == np.float32


@pytest.mark.parametrize("array", [np.array([1, 2, 3], np.int32), np.array([1.0, 2.0, 3.0])])
def test_whole_numbers_become_steps_of_the_scale_as_floats_do(array: Any) -> None:
    one = border("uint16", 3, scale=0.5, offset=-2)

    data = one.native(array)

    assert np.frombuffer(data, "<u2").tolist() == [4, 6, 8]
    assert one.plain(data).tolist() == [1.0, 2.0, 3.0]


def test_truths_become_steps_of_the_scale_too() -> None:
    one = border("uint8", 2, scale=0.5, offset=-2)

    assert list(one.native(np.array([True, False]))) == [4, 2]


def test_whole_numbers_of_the_binarys_own_type_are_steps_already() -> None:
    one = border("uint8", 3, scale=0.5, offset=-2)

    assert list(one.native(np.array([1, 2, 255], np.uint8))) == [1, 2, 255]


def test_what_is_beyond_the_range_gets_its_end() -> None:
    one = border("uint16", 2, scale=1.0, offset=0)

    assert np.frombuffer(one.native(np.array([-3.0, 1e9])), "<u2").tolist() == [0, 65535]


def test_signed_steps_have_both_ends() -> None:
    one = border("int8", 3, scale=1.0, offset=0)

    assert np.frombuffer(one.native(np.array([-200.0, -1.0, 200.0])), "i1").tolist() == [
        -128, -1, 127,
    ]  # fmt: skip


def test_whole_numbers_fit_or_are_told() -> None:
    one = border("int32", 1)

    assert np.frombuffer(one.native(np.array([-7], np.int64)), "<i4").tolist() == [-7]
    with pytest.raises(
        WorkError, match=r"a sample of 'x' has 2147483648, and the binary has int32"
    ):
        one.native(np.array([1 << 31], np.int64))


def test_floats_for_whole_numbers_without_a_scale_are_an_error() -> None:
    with pytest.raises(WorkError, match="is int32 in the binary, with no scale, and floats here"):
        border("int32", 1).native(np.array([1.5]))


def test_halves_and_truths_have_their_own_bytes() -> None:
    assert border("float16", 1).nbytes == 2
    assert border("bool8", 2).native(np.array([True, False])) == b"\1\0"


def test_a_type_that_no_file_can_have_is_told() -> None:
    with pytest.raises(WorkError, match="has the type ufixed_point_4x"):
        border("ufixed_point_4x", 1).native(np.array([1]))


def test_an_answer_in_floats_is_taken_as_it_is() -> None:
    one = border("uint8", 2, scale=0.5, offset=0)

    assert one.plain(np.array([1.25, -2], "<f4").tobytes(), is_native=False).tolist() == [1.25, -2]


# --- orders -------------------------------------------------------------------------------------


def test_an_array_is_turned_to_the_binary_and_back() -> None:
    one = border("float32", 1, 4, 5, 3, order=(0, 2, 3, 1))
    array = np.arange(60, dtype=np.float32).reshape(1, 3, 4, 5)

    data = one.native(array)

    assert np.frombuffer(data, "<f4").reshape(1, 4, 5, 3)[0, 1, 2, 0] == array[0, 0, 1, 2]
    assert np.array_equal(one.plain(data), array)


def sample(**arrays: tuple[int, ...]) -> dict[str, Any]:
    return {name: np.zeros(shape, np.float32) for name, shape in arrays.items()}


def test_the_order_that_the_converter_told_counts() -> None:
    told = {"x": {"order": [0, 1, 2]}}
    square = [tensor("x", "float32", 1, 8, 8)]

    assert inputs_of(sample(x=(1, 8, 8)), square, told, NONE)[0].order == (0, 1, 2)
    assert inputs_of(sample(x=(1, 8, 8)), square, {}, NONE)[0].order == (0, 2, 1)
    assert inputs_of(sample(x=(1, 8, 8)), square, {}, Kept(names=["x"]))[0].order == (0, 1, 2)
    assert inputs_of(sample(x=(1, 8, 8)), square, {}, Kept(all=True))[0].order == (0, 1, 2)


def test_an_order_that_is_told_counts_more_than_that_all_is_kept() -> None:
    told = {name: {"order": [0, 2, 1]} for name in "xy"}
    kept = Kept(all=True)

    (x,) = inputs_of(sample(x=(1, 8, 8)), [tensor("x", "float32", 1, 8, 8)], told, kept)
    (y,) = outputs_of({"y": (1, 8, 8)}, [tensor("y", "float32", 1, 8, 8)], told, kept)

    assert (x.order, y.order) == ((0, 2, 1), (0, 2, 1))


def test_an_output_lies_as_its_sizes_tell_when_nobody_does() -> None:
    found = outputs_of({"y": (1, 3, 4, 5)}, [tensor("y", "float32", 1, 4, 5, 3)], {}, NONE)

    assert found[0].order == (0, 2, 3, 1)


def test_an_output_that_may_lie_in_two_ways_is_told_with_the_option_that_decides() -> None:
    square = [tensor("y", "float32", 1, 4, 4)]

    with pytest.raises(WorkError, match="nobody tells in which order") as caught:
        outputs_of({"y": (1, 4, 4)}, square, {}, NONE)

    assert caught.value.hint == "options: {qairt: {converter: {preserve_io_layout: [y]}}}"
    assert outputs_of({"y": (1, 4, 4)}, square, {}, Kept(names=["y"]))[0].order == (0, 1, 2)
    told = {"y": {"order": [0, 2, 1]}}
    assert outputs_of({"y": (1, 4, 4)}, square, told, NONE)[0].order == (0, 2, 1)


def test_dimensions_of_size_one_may_stand_anywhere() -> None:
    found = outputs_of({"y": (1, 1, 7)}, [tensor("y", "float32", 1, 1, 7)], {}, NONE)

    assert found[0].tensor.shape == (1, 1, 7)


def test_other_sizes_are_an_error_with_both() -> None:
    with pytest.raises(WorkError, match="has other sizes than the model's") as caught:
        outputs_of({"y": (1, 5)}, [tensor("y", "float32", 1, 4)], {}, NONE)

    assert caught.value.facts == (("model", "[1, 5]"), ("binary", "[1, 4]"))


def test_an_output_of_which_nobody_knows_the_shape_stays_as_it_is() -> None:
    assert outputs_of({"y": None}, [tensor("y", "float32", 2, 3)], {}, NONE)[0].order == (0, 1)


# --- names --------------------------------------------------------------------------------------


def test_names_of_the_sdk_are_told_by_those_of_the_model() -> None:
    tensors = [tensor("b", "float32", 1), tensor("_layer_0_out", "float32", 2)]
    found = inputs_of(sample(**{"/layer.0/out": (2,), "b": (1,)}), tensors, {}, NONE)

    assert [one.name for one in found] == ["b", "/layer.0/out"]


def test_names_that_become_one_are_told() -> None:
    with pytest.raises(WorkError, match=r"'a\.b' and 'a/b' are both 'a_b' in the binary"):
        inputs_of(sample(**{"a.b": (1,), "a/b": (1,)}), [tensor("a_b", "float32", 1)], {}, NONE)


def test_what_the_binary_lacks_or_wants_more_is_told() -> None:
    with pytest.raises(WorkError, match="the binary has no input 'x'"):
        inputs_of(sample(x=(1,)), [tensor("y", "float32", 1)], {}, NONE)
    two = [tensor("x", "float32", 1), tensor("y", "float32", 1)]
    with pytest.raises(WorkError, match="wants an input 'y', of which there is no sample"):
        inputs_of(sample(x=(1,)), two, {}, NONE)
    with pytest.raises(WorkError, match="the binary has no output 'z'"):
        outputs_of({"z": (1,)}, [tensor("y", "float32", 1)], {}, NONE)
