"""Reader of shared libraries in the ELF format: for which machine, and what they export."""

from __future__ import annotations

import io
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
        file = ELFFile(io.BytesIO(data))
        machine = str(file["e_machine"])
        return ElfFacts(
            machine=MACHINES.get(machine, machine.removeprefix("EM_")),
            is_library=file["e_type"] == "ET_DYN",
            exports=frozenset(_exports(file)),
        )
    except (ELFError, ConstructError, ValueError, KeyError, AttributeError, OSError) as error:
        raise FormatError(f"an ELF file that is damaged or cut short: {error}") from None


def _exports(file: ELFFile) -> list[str]:
    table = file.get_section_by_name(".dynsym")
    if not isinstance(table, SymbolTableSection):
        return []
    return [
        symbol.name
        for symbol in table.iter_symbols()
        if symbol["st_shndx"] != "SHN_UNDEF"
        and symbol["st_info"]["bind"] in ("STB_GLOBAL", "STB_WEAK")
        and symbol["st_info"]["type"] in ("STT_FUNC", "STT_OBJECT", "STT_NOTYPE")
        and symbol.name
    ]
