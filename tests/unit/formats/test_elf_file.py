"""Libraries: which machine they are for, and what they export."""

from __future__ import annotations

import pytest

from qnnbuild.formats.elf_file import read_elf
from qnnbuild.formats.format_error import FormatError
from tests.libraries import ARM64, HEXAGON, INTERFACE, PROGRAM, START, library


def test_a_library_tells_its_machine_and_what_it_exports():
    facts = read_elf(library())

    assert (facts.machine, facts.is_library) == ("x86-64", True)
    assert facts.exports == {INTERFACE, START}


@pytest.mark.parametrize(
    ("machine", "name"), [(ARM64, "arm64"), (HEXAGON, "Hexagon"), (243, "RISCV")]
)
def test_other_machines_have_names(machine: int, name: str):
    assert read_elf(library(machine=machine)).machine == name


def test_a_program_is_no_library():
    assert not read_elf(library(kind=PROGRAM)).is_library


@pytest.mark.parametrize("data", [b"", b"MZ\x90\0", b"\x7fELF", library()[:200]])
def test_what_is_no_whole_library_is_refused(data: bytes):
    with pytest.raises(FormatError):
        read_elf(data)
