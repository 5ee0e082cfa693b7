"""On which sizes of memory pages a shared library can be loaded."""

from __future__ import annotations

from qnnbuild.formats.elf_file import DAMAGED, open_elf
from qnnbuild.formats.format_error import FormatError


def page_bytes(data: bytes) -> int:
    """The largest page: the smallest alignment of what is loaded. FormatError for no ELF file."""
    try:
        segments = list(open_elf(data).iter_segments())
    except DAMAGED as error:
        raise FormatError(f"no whole ELF file: {error}") from None
    return min((int(one["p_align"]) for one in segments if one["p_type"] == "PT_LOAD"), default=0)
