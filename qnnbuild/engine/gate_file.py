"""The gate's file: signatures in columns, so that ten thousand are read in a millisecond."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import zlib
from array import array
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from qnnbuild.engine.small_file import GATE, NotSmall, read_small

if TYPE_CHECKING:
    from pathlib import Path

FORM = b"qnnbuild gate 2\n"
"""Another first line is another form, which counts as no gate."""


class Row(NamedTuple):
    """mtime can be set back by anyone, ctime and inode cannot: together they tell a change."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


ABSENT = Row(-1, -1, -1, -1)
"""That a file is not there is something to rely on, too: a `chips.yaml` may appear."""


def row_of(path: bytes | Path, folder: int | None = None) -> Row:
    """As it is now. `folder` is a descriptor, which relative paths begin at."""
    try:
        stat = os.stat(path, dir_fd=folder)
    except OSError:
        return ABSENT
    return Row(stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino)


class Landed(NamedTuple):
    """A bundle as it stands in build/: the action, the folder in build/, the key of its record."""

    name: str
    lands: str
    key: str


class Group(NamedTuple):
    """The files of one model, and what is to be known of it while it stands behind the gate."""

    name: str
    recipe: str  # relative to the root
    closed: bool  # False: the rows are only to be compared with, it is to be looked at again
    saved_s: float
    names_text: bytes
    landed_text: bytes
    paths: Sequence[bytes]  # relative to the root where they lie in it
    columns: Sequence[array[int]]  # one for each field of Row

    @property
    def names(self) -> list[str]:
        return self.names_text.decode().split("\n") if self.names_text else []

    @property
    def landed(self) -> list[Landed]:
        lines = self.landed_text.decode().split("\n") if self.landed_text else []
        return [Landed(*line.split("\t")) for line in lines]

    @property
    def actions(self) -> int:
        return self.names_text.count(b"\n") + 1 if self.names_text else 0

    def rows(self) -> Iterator[tuple[bytes, Row]]:
        return zip(self.paths, map(Row._make, zip(*self.columns, strict=True)), strict=True)


class Content(NamedTuple):
    """`facts` is JSON of the gate's own: what must be as it was, which folders hold recipes."""

    facts: Mapping[str, Any]
    groups: Sequence[Group]


def group_of(
    *,
    name: str,
    recipe: str,
    closed: bool,
    saved_s: float,
    names: Sequence[str],
    rows: Mapping[bytes, Row],
    landed: Sequence[Landed] = (),
) -> Group:
    columns = [array("q", column) for column in zip(*rows.values(), strict=True)]
    return Group(
        name=name,
        recipe=recipe,
        closed=closed,
        saved_s=saved_s,
        names_text="\n".join(names).encode(),
        landed_text="\n".join("\t".join(one) for one in landed).encode(),
        paths=list(rows),
        columns=columns or [array("q") for _ in Row._fields],
    )


def read(file: Path) -> Content | None:
    """None when there is no whole file of this form."""
    try:
        data = read_small(file, GATE)
    except (OSError, NotSmall):
        return None
    body = memoryview(data)[len(FORM) : -4]
    if not data.startswith(FORM) or zlib.crc32(body) != int.from_bytes(data[-4:], "little"):
        return None
    try:
        return _content(body)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None  # whole, and no work of ours: it came with the repo


def _content(body: memoryview) -> Content:
    end = 4 + int.from_bytes(body[:4], "little")
    header = json.loads(bytes(body[4:end]))
    sizes = [rows for *_, rows in header["groups"]]
    count = sum(sizes)
    columns = []
    for _ in Row._fields:
        column = array("q")
        column.frombytes(body[end : end + 8 * count])
        columns.append(column)
        end += 8 * count
    text, names, landed = _texts(bytes(body[end:]), header["texts"])
    paths = text.split(b"\0") if text else []
    names.decode(), landed.decode()  # or it raises: they are texts
    belongs = {len(paths), *map(len, columns)} == {count} and min(sizes, default=0) >= 0
    if not belongs or not isinstance(header["facts"], dict):
        raise ValueError("its parts do not belong together")
    of_groups = (names.split(b"\0"), landed.split(b"\0"))
    groups = _groups(header["groups"], paths, columns, *of_groups)
    return Content(facts=dict(header["facts"]), groups=groups)


def _texts(data: bytes, sizes: Sequence[int]) -> Iterator[bytes]:
    first = 0
    for size in sizes:
        yield data[first : first + size]
        first += size


def _groups(
    told: Sequence[Any],
    paths: list[bytes],
    columns: list[array[int]],
    names: list[bytes],
    landed: list[bytes],
) -> list[Group]:
    groups = []
    first = 0
    for (name, recipe, closed, saved_s, count), *texts in zip(told, names, landed, strict=True):
        part = slice(first, first + count)
        groups.append(
            Group(
                name=name,
                recipe=recipe,
                closed=closed,
                saved_s=saved_s,
                names_text=texts[0],
                landed_text=texts[1],
                paths=paths[part],
                columns=[column[part] for column in columns],
            )
        )
        first += count
    return groups


def write(file: Path, content: Content) -> None:
    """Beside, then renamed. No fsync: half a file after a power cut counts as none.

    Where the disk is full the old one stays, which is as true as before: less of it will match.
    """
    told = [[g.name, g.recipe, g.closed, g.saved_s, len(g.paths)] for g in content.groups]
    texts = [
        b"\0".join(path for group in content.groups for path in group.paths),
        b"\0".join(group.names_text for group in content.groups),
        b"\0".join(group.landed_text for group in content.groups),
    ]
    parts = {"facts": content.facts, "groups": told, "texts": [len(text) for text in texts]}
    header = json.dumps(parts).encode()
    columns = [array("q") for _ in Row._fields]
    for group in content.groups:
        for column, part in zip(columns, group.columns, strict=True):
            column.extend(part)
    size = len(header).to_bytes(4, "little")
    body = b"".join([size, header, *(column.tobytes() for column in columns), *texts])
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        new.write_bytes(FORM + body + zlib.crc32(body).to_bytes(4, "little"))
        new.replace(file)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()
