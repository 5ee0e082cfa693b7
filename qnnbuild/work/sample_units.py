"""Which files make a sample, before any is read: by pattern as declared, then sorted.

| file | what it is |
|---|---|
| .npz | arrays by input name; one sample, or many along a leading axis that the inputs lack |
| .npy, .raw, .bin | one input: the only one, or that which file or folder is called after |
| images | one input, through the pre-processing of the recipe |
| .txt | an input_list; only where a pattern names it |

Files called after inputs belong together when they lie in one folder (`0/x.npy`, `0/ids.npy`) or,
where folders are called after inputs, when they have one name (`x/0.npy`, `ids/0.npy`). In a file
name, characters of an input's name other than letters, digits and `_.-` may be written as `_`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.input_list import LIST, ListLine, beside, read_input_list
from qnnbuild.work.pictures import SUFFIXES as IMAGES
from qnnbuild.work.run import WorkError
from qnnbuild.work.sample_borders import Border

ARRAYS = (".npy", ".raw", ".bin")
KNOWN = (".npz", *ARRAYS, *IMAGES)


@dataclass(frozen=True, kw_only=True)
class Unit:
    """What is read at once: one sample, or one file with many."""

    kind: str  # "npz", "arrays", "image"
    shown: str  # how the user calls it: "calib/a.npz", "calib/list.txt:3"
    files: Mapping[str, str] = field(default_factory=dict)  # input (or "") → file


def listed(folder: Path, patterns: Sequence[str]) -> list[str]:
    """The files of `patterns`, relative to `folder`; each once, where it comes first."""
    found: dict[str, None] = {}
    for pattern in patterns:
        path = folder / pattern
        if any(c in pattern for c in "*?["):
            here = _matching(folder, pattern)
        elif path.is_dir():
            here = [
                name
                for name in _matching(folder, f"{pattern}/**/*")
                if PurePosixPath(name).suffix.lower() in KNOWN
            ]
        else:
            here = [pattern] if path.is_file() else []
        if not here:
            raise WorkError(
                f"'{pattern}' has no file of samples",
                place="samples",
                facts=[("known", ", ".join([*KNOWN, LIST]))],
                exit_code=2,
            )
        found.update(dict.fromkeys(here))
    return list(found)


def _matching(folder: Path, pattern: str) -> list[str]:
    """As the engine finds them: files only, sorted, hidden ones only when asked for."""
    if PurePosixPath(pattern).name == "**":
        pattern += "/*"
    asked = any(part.startswith(".") for part in PurePosixPath(pattern).parts)
    paths = sorted(path for path in folder.glob(pattern) if path.is_file())
    inside = [path.relative_to(folder) for path in paths]
    return [p.as_posix() for p in inside if asked or not any(n.startswith(".") for n in p.parts)]


def units_of(folder: Path, files: Sequence[str], borders: Sequence[Border]) -> Iterator[Unit]:
    """The units in order; what a list names is no sample of its own."""
    lists = {name: _lines(folder, name) for name in files if _suffix(name) == LIST}
    named = {
        beside(name, file, line.number)
        for name, lines in lists.items()
        for line in lines
        for _, file in line.files
    }
    apart = [name for name in files if name not in named]
    groups = _groups(apart, borders)
    for name in apart:
        suffix = _suffix(name)
        if suffix == LIST:
            yield from (_of_line(folder, name, line, borders) for line in lists[name])
        elif suffix == ".npz":
            yield Unit(kind="npz", shown=name, files={"": name})
        elif suffix in IMAGES:
            yield Unit(kind="image", shown=name, files={"": name})
        elif suffix not in ARRAYS:
            raise _unknown(name)
        elif name in groups:
            yield groups[name]


def _suffix(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _unknown(name: str) -> WorkError:
    return WorkError(
        f"'{name}' is of no form that samples have",
        place="samples",
        facts=[("known", ", ".join([*KNOWN, LIST]))],
        hint="a Python file can read anything: python: {file: feeds.py}",
        exit_code=2,
    )


def _groups(files: Sequence[str], borders: Sequence[Border]) -> dict[str, Unit]:
    """First file of a sample → the sample, for files that hold one input each."""
    arrays = [name for name in files if _suffix(name) in ARRAYS]
    if len(borders) == 1:
        only = borders[0].name
        return {name: Unit(kind="arrays", shown=name, files={only: name}) for name in arrays}
    spelled = _spellings(borders)
    groups: dict[str, dict[str, str]] = {}
    for name in arrays:
        path = PurePosixPath(name)
        if path.stem in spelled:
            group, border = path.parent.as_posix(), spelled[path.stem]
        elif path.parent.name in spelled:
            group, border = (path.parents[1] / path.stem).as_posix(), spelled[path.parent.name]
        else:
            raise _no_input(name, borders)
        members = groups.setdefault(group, {})
        if border in members:
            raise WorkError(
                f"'{members[border]}' and '{name}' are both '{border}' of one sample",
                place="samples",
                exit_code=2,
            )
        members[border] = name
    return {
        next(iter(members.values())): Unit(kind="arrays", shown=group, files=members)
        for group, members in groups.items()
    }


def _spellings(borders: Sequence[Border]) -> dict[str, str]:
    """How inputs may be called in file names → the input."""
    safe = [re.sub(r"[^\w.-]", "_", border.name) for border in borders]
    found = {name: b.name for name, b in zip(safe, borders, strict=True) if safe.count(name) == 1}
    return found | {border.name: border.name for border in borders}


def _no_input(name: str, borders: Sequence[Border]) -> WorkError:
    return WorkError(
        f"'{name}' does not say which input it is",
        place="samples",
        facts=[("inputs", ", ".join(border.name for border in borders))],
        hint="call it after its input in a folder for each sample (0/x.npy, 0/ids.npy), "
        "use .npz files, or an input_list",
        exit_code=2,
    )


def _lines(folder: Path, name: str) -> tuple[ListLine, ...]:
    try:
        lines = read_input_list((folder / name).read_bytes())
        for line in lines:
            for _, file in line.files:
                beside(name, file, line.number)
    except FormatError as error:
        raise WorkError(
            f"'{name}' is no input_list: {error}",
            place="samples",
            hint="one sample a line: name:=path name2:=path",
            exit_code=2,
        ) from None
    if not lines:
        raise WorkError(f"'{name}' lists no samples", place="samples", exit_code=2)
    return lines


def _of_line(folder: Path, name: str, line: ListLine, borders: Sequence[Border]) -> Unit:
    shown = f"{name}:{line.number}"
    files: dict[str, str] = {}
    if line.files[0][0] is None and len(line.files) != len(borders):
        raise WorkError(
            f"'{shown}' names {len(line.files)} files, the graph has {len(borders)} inputs",
            place="samples",
            facts=[("inputs", ", ".join(border.name for border in borders))],
            exit_code=2,
        )
    for index, (given, file) in enumerate(line.files):
        path = beside(name, file, line.number)
        if not (folder / path).is_file():
            raise WorkError(
                f"'{shown}' names '{file}', which is not there",
                place="samples",
                facts=[("looked for", path)],
                hint="paths are relative to the list; a path in it cannot hold a blank",
                exit_code=2,
            )
        files[given if given is not None else borders[index].name] = path
    return Unit(kind="arrays", shown=shown, files=files)
