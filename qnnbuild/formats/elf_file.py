"""Reader of shared libraries in the ELF format: for which machine, and what they export."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass

from elftools.common.exceptions import ELFError
from elftools.construct import ConstructError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

from qnnbuild.formats.format_error import FormatError

ELF_MAGIC = b"\x7fELF"

MACHINES = {
    "EM_X86_64": "x86-64",
    "EM_386": "x86",
    "EM_AARCH64": "arm64",
    "EM_ARM": "arm",
    "EM_QDSP6": "Hexagon",
}
"""ELF's words → ours; others are told as ELF spells them."""


DAMAGED = (
    *(ELFError, ConstructError, ValueError, LookupError, AttributeError, OSError),
    *(TypeError, ArithmeticError, AssertionError, RecursionError),
)
"""What pyelftools raises for files that are not whole."""

MOST_PARTS = 10_000
"""Sections or segments: libraries have some dozens."""

MOST_LETTERS = 64 << 20
"""Of all names that a library exports."""


@dataclass(frozen=True, kw_only=True)
class ElfFacts:
    machine: str  # x86-64, arm64, Hexagon, …
    is_library: bool
    exports: frozenset[str]  # functions and variables that others may ask for


def read_elf(data: bytes) -> ElfFacts:
    """Raises FormatError for what is no whole ELF file."""
    if not data.startswith(ELF_MAGIC):
        raise FormatError("not an ELF file, as libraries of Linux, Android and the Hexagon are")
    try:
        file = open_elf(data)
        machine = str(file["e_machine"])
        return ElfFacts(
            machine=MACHINES.get(machine, machine.removeprefix("EM_")),
            is_library=file["e_type"] == "ET_DYN",
            exports=frozenset(_exports(file)),
        )
    except DAMAGED as error:
        raise FormatError(f"an ELF file that is damaged or cut short: {error}") from None


def open_elf(data: bytes) -> ELFFile:
    """Its tables are in it: no entry is empty, so that none is read for ever.

    Raises FormatError, or one of DAMAGED.
    """
    file = ELFFile(io.BytesIO(data))
    header, structs = file.header, file.structs
    tables = (
        ("sections", header["e_shoff"], header["e_shentsize"], structs.Elf_Shdr),
        ("segments", header["e_phoff"], header["e_phentsize"], structs.Elf_Phdr),
    )
    for what, at, width, form in tables:
        if at and width < form.sizeof():
            raise FormatError(f"{what} of {width} bytes")
    for what, count in (("sections", file.num_sections()), ("segments", file.num_segments())):
        if count > MOST_PARTS:
            raise FormatError(f"{count} {what}")
    return file


def _exports(file: ELFFile) -> Iterator[str]:
    table = file.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return
    letters = 0
    for symbol in table.iter_symbols():
        # names may lie in one another, and be many times as long together as the file is
        letters += len(symbol.name)
        if letters > MOST_LETTERS:
            raise FormatError("its names have no end")
        if (
            symbol["st_shndx"] != "SHN_UNDEF"
            and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
            and symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE")
            and symbol.name
        ):
            yield symbol.name
