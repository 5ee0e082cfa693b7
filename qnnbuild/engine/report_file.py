"""build/report.html: written when it would tell something else than it does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import REPORT
from qnnbuild.engine.small_file import PAGE, read_small
from qnnbuild.engine.standings import Standings
from qnnbuild.engine.store import on_disk, place
from qnnbuild.report.history import with_history
from qnnbuild.report.report import Subject, digest_of, report
from qnnbuild.report.told import REPORT_VERSION, as_json, with_kept

HEAD_BYTES = 512
_OF = re.compile(rb'<meta name="qnnbuild-report" content="([0-9a-f]{64})">')


def told(
    subject: Subject, builder: Builder, since: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The report as plain data, with what the one before says of models that were not looked at.

    `since` is what another page tells, of the night before; without it that is in the page here.
    """
    return _told(subject, Standings(builder), builder.folder.root / REPORT, since)


def told_by(path: Path) -> dict[str, Any] | None:
    """What a page tells; None when there is none, or none that this version wrote."""
    from qnnbuild.report.page import data_of

    try:
        found = data_of(read_small(path, PAGE).decode("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if found is not None and found.get("report_version") == REPORT_VERSION else None


def write(told: dict[str, Any], path: Path) -> None:
    """Make the page; whoever has the old one open keeps it whole."""
    with on_disk("the report cannot be written"):
        place(path, _page(told))


def write_here(told: dict[str, Any], builder: Builder) -> None:
    """Make the page below build/."""
    with on_disk("the report cannot be written"):
        builder.folder.place_end(REPORT, _page(told))


def _page(told: dict[str, Any]) -> bytes:
    from qnnbuild.report.page import page

    return page(told).encode(errors="replace")  # there may be halves of characters


def refresh(subject: Subject, builder: Builder) -> bool:
    """Write the report below build/ anew unless it tells of this very state; whether it did.

    What has not changed costs a digest over what the build knows already.
    """
    path = builder.folder.root / REPORT
    known = Standings(builder)
    if not len(subject.plan) and not subject.problems and not path.exists():
        return False
    if _tells_of(path) == digest_of(subject, known):
        return False
    write_here(_told(subject, known, path), builder)
    return True


def _told(
    subject: Subject, known: Standings, path: Path, since: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    before = told_by(path)
    found = with_kept(as_json(report(subject, known)), before, subject.unseen)
    return with_history(found, since or before, apart=since is not None)


def _tells_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            found = _OF.search(file.read(HEAD_BYTES))
    except OSError:
        return None
    return found.group(1).decode() if found else None
