"""A DLC as a tool has written it: looked at, and made the same bytes each time."""

from __future__ import annotations

import mmap
from pathlib import Path

from qnnbuild.formats.dlc import DlcFacts, read_dlc
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.tensor import GraphFacts
from qnnbuild.formats.zip_times import clear_times

SUFFIX = ".dlc"


def same_bytes(path: Path) -> None:
    """The time of day in it goes. Raises FormatError when the file is not whole."""
    if not path.stat().st_size:
        raise FormatError("it is empty")
    with path.open("r+b") as file:
        clear_times(memoryview(mmap.mmap(file.fileno(), 0)))


def dlc_in(folder: Path) -> Path:
    """The only DLC of a folder. Raises FormatError."""
    files = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX)
    if len(files) != 1:
        raise FormatError(f"{len(files)} DLCs where one belongs")
    return files[0]


def read(path: Path) -> DlcFacts:
    """Raises FormatError when it is not whole, or not a DLC."""
    if not path.stat().st_size:
        raise FormatError("it is empty")
    with path.open("rb") as file:
        return read_dlc(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))


def graph_in(path: Path) -> GraphFacts | None:
    """Its only graph; None of a form that is not known, as other versions may write it.

    Raises FormatError.
    """
    facts = read(path)
    if len(facts.graphs) == 1:
        return facts.graphs[0]
    if facts.notes and not facts.graphs:
        return None
    raise FormatError(f"it holds {len(facts.graphs)} graphs, not one")


def made_by(facts: DlcFacts) -> str | None:
    """The version that wrote it: "2.51.0.260929181845"."""
    return facts.converter.rpartition(" ")[2].removeprefix("v") if facts.converter else None
