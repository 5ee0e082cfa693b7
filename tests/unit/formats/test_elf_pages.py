"""The largest page on which a library can be loaded."""

from __future__ import annotations

import struct

import pytest

from qnnbuild.formats.elf_pages import page_bytes
from qnnbuild.formats.format_error import FormatError


def elf(*segments: tuple[int, int]) -> bytes:
    """A file of nothing but segments: type and alignment of each."""
    head = b"\x7fELF\x02\x01\x01" + bytes(9)
    head += struct.pack("<HHIQQQIHHHHHH", 3, 183, 1, 0, 64, 0, 0, 64, 56, len(segments), 64, 0, 0)
    return head + b"".join(
        struct.pack("<IIQQQQQQ", kind, 5, 0, 0, 0, 0, 0, align) for kind, align in segments
    )


LOAD, NOTE = 1, 4


def test_the_smallest_alignment_of_what_is_loaded_counts() -> None:
    assert page_bytes(elf((LOAD, 65536), (LOAD, 16384), (NOTE, 4))) == 16384
    assert page_bytes(elf((NOTE, 4))) == 0


def test_what_is_no_elf_file_is_an_error() -> None:
    with pytest.raises(FormatError):
        page_bytes(b"\x7fELF")
