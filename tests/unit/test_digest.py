from __future__ import annotations

import enum
from types import MappingProxyType

import pytest

from qnnbuild.digest import Json, canonical, digest_bytes, digest_file, digest_json, plain


def test_a_value_has_one_spelling():
    value: Json = {"b": [1, 2.5, None, True], "a": "ü", "c": {}}

    assert canonical(value).decode() == '{"a":"ü","b":[1,2.5,null,true],"c":{}}'


def test_the_order_of_names_does_not_count_and_that_of_a_list_does():
    assert digest_json({"a": 1, "b": 2}) == digest_json({"b": 2, "a": 1})
    assert digest_json([1, 2]) != digest_json([2, 1])


def test_a_whole_number_a_fraction_and_a_truth_are_three_values():
    assert len({digest_json(value) for value in (1, 1.0, True, "1")}) == 4


def test_tuples_and_read_only_mappings_are_lists_and_dicts():
    assert plain(MappingProxyType({"a": (1, (2,))})) == {"a": [1, [2]]}


class Colour(enum.Enum):
    RED = 1


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"ab", "bytes"),
        (bytearray(b"ab"), "bytearray"),
        (memoryview(b"ab"), "memoryview"),
        ({1, 2}, "set"),
        (object(), "object"),
        (Colour.RED, "Colour"),
        (1j, "complex"),
    ],
)
def test_what_json_has_no_form_for_is_refused(value, kind):
    with pytest.raises(TypeError) as caught:
        canonical({"deep": [value]})

    assert str(caught.value) == f"{kind} has no form in JSON"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_numbers_that_are_none_are_refused(value):
    with pytest.raises(TypeError) as caught:
        canonical([value])

    assert str(caught.value) == f"{value} has no form in JSON"


def test_a_name_that_is_no_text_is_refused():
    with pytest.raises(TypeError) as caught:
        canonical({1: "a"})  # type: ignore[dict-item]

    assert str(caught.value) == "JSON wants text as keys"


def test_a_file_has_the_digest_of_its_bytes(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"abc")

    assert digest_file(path) == digest_bytes(b"abc")
    assert digest_bytes(b"abc") == (
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    )
