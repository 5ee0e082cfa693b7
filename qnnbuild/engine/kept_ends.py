"""Copies of what the end of a build writes over all bundles, so that it comes back with no plan."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from qnnbuild.digest import Digest
from qnnbuild.engine.gate_file import ABSENT, Row, row_of
from qnnbuild.engine.store import copy_and_digest

if TYPE_CHECKING:
    from qnnbuild.engine.gate import Gate

FOLDER = "ends"


def keep_ends(gate: Gate, rows: Mapping[str, Row]) -> dict[str, Digest]:
    """Path → digest of its copy, where it is there. `rows` are as they are now.

    What has the row of last time is not read again.
    """
    known = gate.facts.get("kept", {})
    kept = {}
    for path, row in rows.items():
        copy = _copy_of(gate, path)
        if gate.ends.get(path) == row and path in known and copy.exists():
            kept[path] = known[path]
        elif row != ABSENT and (digest := _kept(gate.root / path, row, copy)):
            kept[path] = digest
    return kept


def _kept(path: Path, row: Row, copy: Path) -> Digest | None:
    """None when it changed meanwhile, or the disk refuses: then a build writes it anew."""
    new = _beside(copy)
    try:
        copy.parent.mkdir(exist_ok=True)
        digest = copy_and_digest(path, new)
        os.replace(new, copy)
    except OSError:  # the build is as good without a copy
        return None
    finally:
        with suppress(OSError):  # there is none where its folder refused it
            new.unlink()
    return digest if row_of(path) == row else None


def put_end(gate: Gate, path: str) -> Row | None:
    """Have it back where it was; None when there is no copy that is right, or somebody was first.

    A link in the place of a rename: what another build has written meanwhile is newer.
    """
    wanted = gate.facts["kept"].get(path)
    to = gate.root / path
    new = _beside(to)
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        if wanted is None or copy_and_digest(_copy_of(gate, path), new) != wanted:
            return None
        os.link(new, to)
    except OSError:  # all of it can be made again, and is then
        return None
    finally:
        with suppress(OSError):  # as above
            new.unlink()
    return row_of(to)


def _copy_of(gate: Gate, path: str) -> Path:
    return gate.file.parent / FOLDER / Path(path).name


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.{uuid4().hex}.new")
