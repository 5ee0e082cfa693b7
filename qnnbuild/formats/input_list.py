"""input_list files, as Qualcomm's converters read them: one sample a line, its files by input.

    # lines that begin with # or % are no samples
    x:=a/0.raw prompt:=a/prompt.raw
    x:=a/1.raw prompt:=a/prompt.raw

Without names the files stand in the order of the graph's inputs. The SDK's tools take paths from
the folder in which they run; here they are relative to the list, so that it means the same
everywhere. A byte order mark and CRLF, which spoil names for the SDK, are taken as they are meant.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass

from qnnbuild.formats.format_error import FormatError

LIST = ".txt"
"""How a list's name ends."""

MOST_BYTES = 64 << 20


@dataclass(frozen=True, kw_only=True)
class ListLine:
    number: int
    files: tuple[tuple[str | None, str], ...]  # input (None: by its place) and path


def read_input_list(data: bytes) -> tuple[ListLine, ...]:
    """The samples of a list. Raises FormatError that names the line."""
    if len(data) > MOST_BYTES:
        raise FormatError(f"it has {len(data)} bytes, which no list has")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError("it is no text in UTF-8") from None
    lines = []
    for number, line in enumerate(text.splitlines(), start=1):
        words = line.split()
        if not words or words[0][0] in "#%":
            continue
        lines.append(ListLine(number=number, files=_files(number, words)))
    return tuple(lines)


def _files(number: int, words: list[str]) -> tuple[tuple[str | None, str], ...]:
    files: list[tuple[str | None, str]] = []
    for word in words:
        name, named, path = word.rpartition(":=")
        if (named and not name) or not path:
            raise FormatError(f"line {number}: '{word}' is not of the form name:=path")
        files.append((name if named else None, path))
    names = [name for name, _ in files if name is not None]
    if names and len(names) != len(files):
        raise FormatError(f"line {number}: some files have a name and some have none")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise FormatError(f"line {number}: '{twice}' is given twice")
    return tuple(files)


def beside(list_path: str, path: str, number: int) -> str:
    """A path of a list as one relative to where the list's own is. FormatError when it leaves."""
    if "\\" in path or path.startswith("/"):
        raise FormatError(
            f"line {number}: '{path}' is not relative to the list, with / between folders"
        )
    joined = posixpath.normpath(posixpath.join(posixpath.dirname(list_path), path))
    if joined == ".." or joined.startswith("../"):
        raise FormatError(f"line {number}: '{path}' leaves the repo")
    return joined
