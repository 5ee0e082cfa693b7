"""What a target is: a reader of bytes, and inputs to begin with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "cases"
DEEP = (b"[" * 20_000, b'{"a":' * 20_000, b"a: {" * 3_000, b"9" * 6_000)
"""What makes readers that call themselves fall, and numbers that Python turns no text into."""


@dataclass(frozen=True, kw_only=True)
class Target:
    reads: Callable[[bytes], object]
    seeds: Callable[[], Iterator[bytes]]
    most_bytes: int = 1 << 16


def of_formats(read: Callable[[bytes], object]) -> Callable[[bytes], None]:
    from qnnbuild.formats.format_error import FormatError

    def reads(data: bytes) -> None:
        with suppress(FormatError):
            read(data)

    return reads


_keep: list[object] = []
"""Folders last as long as the process."""


@cache
def scratch() -> str:
    folder = TemporaryDirectory(prefix="fuzz-folder-")
    _keep.append(folder)
    return folder.name


def of_files(read: Callable[[Path], object], name: str) -> Callable[[bytes], None]:
    """Of what takes a file."""
    from qnnbuild.work.run import WorkError

    folder = Path(scratch()) / name
    folder.mkdir(exist_ok=True)

    def reads(data: bytes) -> None:
        path = folder / name
        path.write_bytes(data)
        with suppress(WorkError):
            read(path)

    return reads
