"""input_list files, as the SDK's converters read them."""

from __future__ import annotations

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.input_list import ListLine, beside, read_input_list


def test_names_and_paths_are_read_and_comments_are_not() -> None:
    text = b"#y\n% old\n\nx:=a/0.raw ids:=b/0.raw\n  x:=a/1.raw   ids:=b/1.raw  \n"

    assert read_input_list(text) == (
        ListLine(number=4, files=(("x", "a/0.raw"), ("ids", "b/0.raw"))),
        ListLine(number=5, files=(("x", "a/1.raw"), ("ids", "b/1.raw"))),
    )


def test_without_names_the_order_counts() -> None:
    assert read_input_list(b"a.raw b.raw") == (
        ListLine(number=1, files=((None, "a.raw"), (None, "b.raw"))),
    )


def test_names_may_hold_colons() -> None:
    assert read_input_list(b"serving:0:=a.raw") == (
        ListLine(number=1, files=(("serving:0", "a.raw"),)),
    )


def test_a_byte_order_mark_and_crlf_are_no_part_of_names() -> None:
    assert read_input_list(b"\xef\xbb\xbfx:=a.raw\r\nx:=b.raw\r\n") == (
        ListLine(number=1, files=(("x", "a.raw"),)),
        ListLine(number=2, files=(("x", "b.raw"),)),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"x:=a.raw b.raw", "line 1: some files have a name and some have none"),
        (b"\nx:=a.raw x:=b.raw", "line 2: 'x' is given twice"),
        (b":=a.raw", "line 1: ':=a.raw' is not of the form name:=path"),
        (b"x:=", "line 1: 'x:=' is not of the form name:=path"),
        (b"\xff\xfe", "it is no text in UTF-8"),
    ],
)
def test_what_is_no_list_is_told_with_its_line(text: bytes, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read_input_list(text)

    assert str(caught.value) == message


def test_paths_are_relative_to_the_list() -> None:
    assert beside("calib/list.txt", "a/0.raw", 1) == "calib/a/0.raw"
    assert beside("calib/list.txt", "../raw/0.raw", 1) == "raw/0.raw"


@pytest.mark.parametrize("path", ["../../a.raw", "/a.raw", "a\\b.raw"])
def test_paths_stay_in_the_repo(path: str) -> None:
    with pytest.raises(FormatError, match="line 7: "):
        beside("calib/list.txt", path, 7)
