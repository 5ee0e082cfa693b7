"""How it stands with an action, and what came of making it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from qnnbuild.actions.record import Record
from qnnbuild.digest import Digest
from qnnbuild.errors import QnnbuildError, StoreError


@dataclass(frozen=True, kw_only=True)
class Current:
    record: Record


@dataclass(frozen=True, kw_only=True)
class Stale:
    """The reasons are whole sentences' worth, for people; never empty."""

    reasons: tuple[str, ...]
    key: Digest


@dataclass(frozen=True, kw_only=True)
class Waits:
    """The key is not known yet: these actions have to run first."""

    on: tuple[str, ...]


State = Current | Stale | Waits


class NotCurrent(StoreError):
    """It was asked for what an action made, and there is nothing, or nothing any more."""


def has_work(state: Callable[[str], State], names: Iterable[str]) -> bool:
    """Whether one of these actions is not current, or its sources are wrong."""
    try:
        return not all(isinstance(state(name), Current) for name in names)
    except QnnbuildError:
        return True


How = Literal["made", "fetched", "reused", "cut off", "restored"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`cut off`: it ran and made what it had made before. `restored`: only build/ was mended.

    `fetched`: another machine made it, and a remote cache knew.
    """

    name: str
    how: How
    record: Record
    seconds: float = 0.0
    saved_s: float = 0.0
    worker: str = ""  # of a cluster, where it ran; empty for this machine
