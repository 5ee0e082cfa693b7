"""What `qnnbuild doctor` found of one thing."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Finding:
    what: str
    good: bool
    found: str
    mend: str | None = None  # what could be better, also where it is good enough


def tried(*, what: str, good: bool, found: str, mend: str | None) -> Finding:
    """With a word on how to mend it where it is bad."""
    return Finding(what=what, good=good, found=found, mend=None if good else mend)
