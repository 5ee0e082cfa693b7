"""Libraries: which machine they are for, and what they export."""

from __future__ import annotations

import pytest

from qnnbuild.formats.elf_file import read_elf
from qnnbuild.formats.elf_pages import page_bytes
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


@pytest.mark.parametrize(
    ("at", "value", "why"),
    [(54, 0, "segments of 0 bytes"), (58, 0, "sections of 0 bytes"), (60, 65_535, "sections")],
)
def test_tables_that_would_be_read_for_ever_are_refused(at: int, value: int, why: str):
    data = bytearray(library())
    data[at : at + 2] = value.to_bytes(2, "little")
    data[32:40] = data[40:48]  # segments begin somewhere, too
    with pytest.raises(FormatError, match=why):
        read_elf(bytes(data))
    with pytest.raises(FormatError, match=why):
        page_bytes(bytes(data))


def test_names_that_lie_in_one_another_take_no_memory(monkeypatch):
    monkeypatch.setattr("qnnbuild.formats.elf_file.MOST_LETTERS", 8)
    with pytest.raises(FormatError, match="its names have no end"):
        read_elf(library())
