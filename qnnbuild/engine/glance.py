"""One glance at a checkout: whether all that the gate knows of it is as it was.

A build of nothing ends here, and Python's own start is a sixth of it. So nothing is imported that
imports more in turn: json, re, pathlib and typing together take as long as ten thousand files.
"""

from __future__ import annotations

import os
import sys
import zlib
from array import array

from qnnbuild.engine.gate_stat import STAMP, changed_of, stamp
from qnnbuild.engine.places import OF_CHECKOUT
from qnnbuild.engine.small_file import GATE, NotSmall, read_small
from qnnbuild.model.secret_names import is_secret

TYPE_CHECKING = False  # type checkers know it by this name, and no import of typing is needed
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from qnnbuild.engine.gate_stat import Stamp

FORM = b"qnnbuild gate 3\n"
"""Another first line is another form, which counts as no gate."""

TEXTS = ("world", "paths", "header", "names", "landed")
NUMBERS = 1 + len(TEXTS) + 3
"""How many numbers come first: the rows, the bytes of each text, and what is told at the end."""

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

SIGNING_KEY = "QNNBUILD_SIGNING_KEY"
"""Which key it is cannot be told without opening it: with one, everything is looked at."""

_RECORD, _WORD = b"\0\0", b"\0"
"""Between folders, and between the names in one: no name is empty or has a NUL in it."""


class Parts:
    """A gate's file in its parts; only the rows are taken apart.

    `columns` are those of the rows in the order of STAMP, `texts` the rest in that of TEXTS.
    `shuts` says that nothing is to be done while all is as it was.
    """

    __slots__ = ("actions", "columns", "saved_s", "shuts", "texts")

    def __init__(
        self,
        columns: Sequence[array[int]],
        texts: Mapping[str, bytes],
        *,
        actions: int,
        saved_s: float,
        shuts: bool,
    ) -> None:
        self.columns = columns
        self.texts = texts
        self.actions = actions
        self.saved_s = saved_s
        self.shuts = shuts


def parts_of(data: bytes) -> Parts | None:
    """None when it is no whole file of this form."""
    body = memoryview(data)[len(FORM) : -4]
    if not data.startswith(FORM) or zlib.crc32(body) != int.from_bytes(data[-4:], "little"):
        return None
    head = array("q")
    try:
        head.frombytes(body[: 8 * NUMBERS])
        rows, *sizes, actions, saved_ms, shuts = head
    except ValueError:  # it is shorter
        return None
    end = 8 * NUMBERS
    whole = len(STAMP) * 8 * rows + sum(sizes) + end
    if len(sizes) != len(TEXTS) or min(rows, *sizes) < 0 or whole != len(body):
        return None  # whole, and no work of ours: it came with the repo
    columns = []
    for _ in STAMP:
        column = array("q")
        column.frombytes(body[end : end + 8 * rows])
        columns.append(column)
        end += 8 * rows
    texts = {}
    for name, size in zip(TEXTS, sizes, strict=True):
        texts[name] = bytes(body[end : end + size])
        end += size
    return Parts(columns, texts, actions=actions, saved_s=saved_ms / 1000, shuts=shuts == 1)


def bytes_of(parts: Parts) -> bytes:
    """What `parts_of` reads."""
    texts = [parts.texts[name] for name in TEXTS]
    told = [parts.actions, round(parts.saved_s * 1000), int(parts.shuts)]
    head = array("q", [len(parts.columns[0]), *map(len, texts), *told])
    body = b"".join([head.tobytes(), *(column.tobytes() for column in parts.columns), *texts])
    return FORM + body + zlib.crc32(body).to_bytes(4, "little")


class Glance:
    """What one look saw. `parts` is None where nothing is known that counts here and now."""

    __slots__ = ("began", "changed", "is_listed", "parts")

    def __init__(self, began: Stamp) -> None:
        self.began = began  # the stamp of the gate's own file, before it was read
        self.parts: Parts | None = None
        self.is_listed = False  # whether the folders of recipes list what they did
        self.changed: Sequence[int] = ()  # the rows that are not as they were, by number

    @property
    def is_shut(self) -> bool:
        """Whether everything is as it was, and was all done."""
        known = self.parts is not None and self.parts.shuts
        return known and self.is_listed and not self.changed


def gate_file(root: str | Path) -> str:
    """What is known of a checkout stays in it, wherever its store is: a store may have many."""
    return os.path.join(root, OF_CHECKOUT, "gate")


def glance(root: str | Path) -> Glance:
    """Compare what is there with what was known; reads the gate's file and writes nothing."""
    file = gate_file(root)
    seen = Glance(stamp(file))
    try:
        parts = parts_of(read_small(file, GATE))
    except (OSError, NotSmall):
        return seen
    if parts is None or os.environ.get(SIGNING_KEY):
        return seen
    known = parts.texts["world"]
    try:
        marked, folders = told_of(known)
        if marked != mark(root):
            return seen
        # all is there already that a second process is to know
        seen.changed = changed_of(parts.texts["paths"], parts.columns, root)
        seen.is_listed = text_of(marked, listed(root, folders)) == known
    except (ValueError, OSError):  # no texts, or not as many paths as rows; or there is no folder
        return seen
    seen.parts = parts
    return seen


# --- the world: what must be as it was, but for rows ------------------------------------------


def mark(root: str | Path) -> str:
    """What must be as it was for any row to mean anything; of a secret, that there is one.

    The times of our own code on this machine are among it: nobody who writes a gate into a repo
    for others knows them, so one that came with a repo counts as none.
    """
    told = sorted(
        f"{name}={'set' if is_secret(name) else value}"
        for name, value in os.environ.items()
        if name.startswith(("QNN", "QAIRT"))  # QNNBUILD_… and what Qualcomm's tools read
    )
    installed = os.stat(os.path.join(PACKAGE, "__init__.py"))
    ours = [installed.st_mtime_ns, installed.st_ctime_ns, installed.st_ino]
    return repr([os.path.abspath(root), sys.version, sys.prefix, ours, told])


def listed(root: str | Path, folders: Iterable[str]) -> dict[str, list[str]]:
    """Of folders that hold recipes, the names that count."""
    return {folder: names_in(root, folder) for folder in sorted(folders)}


def text_of(marked: str, folders: Mapping[str, Sequence[str]]) -> bytes:
    """The world as it is kept: the same text is the same world."""
    records = [[marked], *([folder, *names] for folder, names in folders.items())]
    return _RECORD.join(_WORD.join(map(_bytes, record)) for record in records)


def told_of(text: bytes) -> tuple[str, dict[str, list[str]]]:
    """The mark, and folder → names. Raises ValueError for what is no such text."""
    records = [record.split(_WORD) for record in text.split(_RECORD)]
    (marked, *rest), *folders = [[_text(word) for word in record] for record in records]
    if rest:
        raise ValueError("no mark stands first")
    return marked, {folder: names for folder, *names in folders}


def names_in(root: str | Path, folder: str) -> list[str]:
    """The YAML files of a folder and, with a slash at their end, the folders in it."""
    try:
        with os.scandir(os.path.join(root, folder)) as entries:
            return sorted(
                entry.name + "/" if _is_folder(entry) else entry.name
                for entry in entries
                if entry.name.endswith((".yaml", ".yml")) or _is_folder(entry)
            )
    except OSError:
        return []


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link to itself
        return False


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
