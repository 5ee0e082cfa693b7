"""What the gate's file says of the groups: the signatures of their files, and what stood on them.

Its parts are told from one another in `glance`; here they get a meaning.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from qnnbuild.engine.gate_stat import NONE, STAMP, stamp
from qnnbuild.engine.glance import Parts, bytes_of, text_of, told_of

COMMON = ""
"""The group of files that every action depends on: settings, chips, tools, our own code."""


class Row(NamedTuple):
    """A stamp, with names."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


ABSENT = Row._make(NONE)


def row_of(path: bytes | str | Path, folder: int | None = None) -> Row:
    """As it is now. `folder` is a descriptor, which relative paths begin at."""
    return Row._make(stamp(path, folder))


class Landed(NamedTuple):
    """A bundle as it stands in build/: the action, the folder in build/, the key of its record."""

    name: str
    lands: str
    key: str


class Rows:
    """Paths, relative to the root where they lie in it, and a column for each field of Row."""

    def __init__(self, columns: Sequence[array[int]], text: bytes) -> None:
        self.columns = columns
        self._text = text
        self._paths: Sequence[bytes] | None = None

    @property
    def paths(self) -> Sequence[bytes]:
        """Most looks need none of them. Raises ValueError when they are not as many as the rows."""
        if self._paths is None:
            self._paths = self._text.split(b"\0") if self._text else []
            if len(self._paths) != len(self.columns[0]):
                raise ValueError("there are not as many paths as rows")
        return self._paths


def rows_of(rows: Mapping[bytes, Row]) -> Rows:
    columns = [array("q", column) for column in zip(*rows.values(), strict=True)]
    return Rows(columns or [array("q") for _ in STAMP], b"\0".join(rows))


class Group(NamedTuple):
    """The files of one model, and what is to be known of it while it stands behind the gate."""

    name: str
    recipe: str  # relative to the root
    closed: bool  # False: the rows are only to be compared with, it is to be looked at again
    saved_s: float
    names_text: bytes
    landed_text: bytes
    among: Rows
    first: int
    end: int

    @property
    def names(self) -> list[str]:
        return self.names_text.decode().split("\n") if self.names_text else []

    @property
    def landed(self) -> list[Landed]:
        lines = (line.split("\t") for line in self.landed_text.decode().split("\n"))
        return [Landed(*words) for words in lines if len(words) == len(Landed._fields)]

    @property
    def actions(self) -> int:
        return self.names_text.count(b"\n") + 1 if self.names_text else 0

    @property
    def paths(self) -> Sequence[bytes]:
        return self.among.paths[self.first : self.end]

    @property
    def columns(self) -> Sequence[array[int]]:
        return [column[self.first : self.end] for column in self.among.columns]

    def rows(self) -> Iterator[tuple[bytes, Row]]:
        return zip(self.paths, map(Row._make, zip(*self.columns, strict=True)), strict=True)


class Content(NamedTuple):
    """All of it. `facts` is JSON of the gate's own, `ends` what the end of a build writes anew."""

    mark: str
    folders: Mapping[str, Sequence[str]]  # with recipes → the names in it that count
    facts: Mapping[str, Any]
    groups: Sequence[Group]
    ends: Mapping[str, Row]


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
    return Group(
        name=name,
        recipe=recipe,
        closed=closed,
        saved_s=saved_s,
        names_text="\n".join(names).encode(),
        landed_text="\n".join("\t".join(one) for one in landed).encode(),
        among=rows_of(rows),
        first=0,
        end=len(rows),
    )


def content_of(parts: Parts) -> Content | None:
    """None when its parts do not belong together: it came with the repo.

    That there are as many paths as rows is seen by the pass of stat.
    """
    try:
        return _content(parts)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None


def _content(parts: Parts) -> Content:
    texts = parts.texts
    header = json.loads(texts["header"])
    rows = Rows(parts.columns, texts["paths"])
    of_groups = [texts[part].split(b"\0") for part in ("names", "landed")]
    sizes = [count for *_, count in header["groups"]]
    bounds = list(accumulate(sizes, initial=header["ends"]))  # they come first
    texts["names"].decode(), texts["landed"].decode()  # or it raises: they are texts
    belongs = min([header["ends"], *sizes]) >= 0 and bounds[-1] == len(rows.columns[0])
    if not belongs or not isinstance(header["facts"], dict):
        raise ValueError("its parts do not belong together")
    mark, folders = told_of(texts["world"])
    groups = [
        Group(name, recipe, closed, saved_s, names, landed, rows, *place)
        for (name, recipe, closed, saved_s, _), names, landed, place in zip(
            header["groups"], *of_groups, pairwise(bounds), strict=True
        )
    ]
    ends = texts["paths"].split(b"\0", bounds[0])[: bounds[0]]
    stamps = map(Row._make, zip(*(column[: bounds[0]] for column in rows.columns), strict=True))
    return Content(
        mark=mark,
        folders=folders,
        facts=header["facts"],
        groups=groups,
        ends=dict(zip(map(os.fsdecode, ends), stamps, strict=True)),
    )


def numbers_by_group(
    groups: Sequence[Group], numbers: Sequence[int]
) -> Iterator[tuple[Group, Sequence[int]]]:
    """Of the rows with these numbers, in their order, those of each group that has any."""
    for group in groups:
        first, end = (bisect_left(numbers, bound) for bound in (group.first, group.end))
        if first < end:
            yield group, numbers[first:end]


def write(file: Path, content: Content) -> None:
    """Beside, then renamed. No fsync: half a file after a power cut counts as none.

    Where the disk is full the old one stays, which is as true as before: less of it will match.
    """
    new = file.with_name(f"{file.name}.{os.getpid()}.new")
    try:
        new.write_bytes(bytes_of(_parts(content)))
        new.replace(file)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
    finally:
        with contextlib.suppress(FileNotFoundError):
            new.unlink()


def _parts(content: Content) -> Parts:
    groups = content.groups
    ends = rows_of({os.fsencode(path): row for path, row in content.ends.items()})
    columns = [array("q", column) for column in ends.columns]
    for group in groups:
        for column, part in zip(columns, group.columns, strict=True):
            column.extend(part)
    told = [[g.name, g.recipe, g.closed, g.saved_s, g.end - g.first] for g in groups]
    header = {"facts": content.facts, "groups": told, "ends": len(content.ends)}
    texts = {
        "world": text_of(content.mark, content.folders),
        "paths": b"\0".join([*ends.paths, *(path for group in groups for path in group.paths)]),
        "header": json.dumps(header).encode(),
        "names": b"\0".join(group.names_text for group in groups),
        "landed": b"\0".join(group.landed_text for group in groups),
    }
    closed = [group for group in groups if group.closed and group.name != COMMON]
    actions = sum(group.actions for group in closed)
    saved_s = sum(group.saved_s for group in closed)
    shuts = bool(actions) and _shuts(content, closed)
    return Parts(columns, texts, actions=actions, saved_s=saved_s, shuts=shuts)


def _shuts(content: Content, closed: Iterable[Group]) -> bool:
    """Whether nothing is to be looked at while all is as it was."""
    left_out = content.facts.get("left_out", ())
    shared = any(group.closed for group in content.groups if group.name == COMMON)
    behind = {group.recipe for group in closed}
    return shared and behind.issuperset(set(recipes_in(content.folders)).difference(left_out))


def recipes_in(folders: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The files that may be recipes, relative to the root."""
    for folder, names in folders.items():
        for name in names:
            if not name.endswith("/"):
                yield name if folder == "." else f"{folder}/{name}"
