"""build/report.html: written when it would tell something else than it does."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import REPORT
from qnnbuild.engine.standings import Standings
from qnnbuild.engine.store import on_disk, place
from qnnbuild.report.report import Subject, digest_of, report
from qnnbuild.report.told import as_json, with_kept

HEAD_BYTES = 512
_OF = re.compile(rb'<meta name="qnnbuild-report" content="([0-9a-f]{64})">')


def told(subject: Subject, builder: Builder) -> dict[str, Any]:
    """The report as plain data, with what the one before says of models that were not looked at."""
    return _told(subject, Standings(builder), builder.folder.root / REPORT)


def write(told: dict[str, Any], path: Path) -> None:
    """Make the page; whoever has the old one open keeps it whole."""
    from qnnbuild.report.page import page

    with on_disk("the report cannot be written"):
        place(path, page(told).encode())


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
    write(_told(subject, known, path), path)
    return True


def _told(subject: Subject, known: Standings, before: Path) -> dict[str, Any]:
    found = as_json(report(subject, known))
    return with_kept(found, _before(before) if subject.unseen else None, subject.unseen)


def _tells_of(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            found = _OF.search(file.read(HEAD_BYTES))
    except OSError:
        return None
    return found.group(1).decode() if found else None


def _before(path: Path) -> dict[str, Any] | None:
    from qnnbuild.report.page import data_of

    try:
        return data_of(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # none, or not ours: what it said of other models is lost
        return None
