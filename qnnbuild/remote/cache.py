"""What a remote cache is to a build: results by the digest of an action, contents by their own."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Protocol, TypeVar

from qnnbuild.digest import Digest, digest_bytes

AT_ONCE = 4
"""How many files of one request travel at the same time."""

RESULT_LIMIT = 16 << 20
"""No result of ours comes near this many bytes; whoever sends more sends nonsense."""

SLOWEST = 32 << 10
"""Bytes a second: what comes more slowly is given up, however steadily it comes."""

EMPTY = digest_bytes(b"")
"""Contents of no length are known to everybody, and some servers refuse to keep them."""

T = TypeVar("T")


class Trouble(Exception):
    """The cache cannot be used now: down, slow, refusing. Says why without any credentials."""


class Wrong(Exception):
    """The cache gave what was not asked for."""


@dataclass(frozen=True, kw_only=True)
class Content:
    """Something to send; `opened` gives it from its beginning, as often as asked."""

    digest: Digest
    size: int
    opened: Callable[[], BinaryIO]


@dataclass(kw_only=True)
class Landing:
    """A file that something is fetched into, and what has come of it so far."""

    digest: Digest
    size: int
    path: Path
    _file: BinaryIO | None = field(default=None, repr=False)

    def start(self) -> None:
        """From the beginning, whatever came before."""
        self.close()
        self._sum = hashlib.sha256()
        self.count = 0
        self._file = self.path.open("wb")

    def write(self, part: bytes) -> None:
        """Raises Wrong as soon as there is more than there should be."""
        assert self._file is not None
        self.count += len(part)
        if self.count > self.size:
            raise Wrong(f"more than the {self.size:,} bytes of {self.digest}")
        self._sum.update(part)
        self._file.write(part)

    @property
    def is_short(self) -> bool:
        return self.count < self.size

    def end(self) -> None:
        """Raises Wrong when what came is not what its digest says."""
        self.close()
        if self.is_short:
            raise Wrong(f"{self.count:,} of the {self.size:,} bytes of {self.digest}")
        if self._sum.hexdigest() != self.digest:
            raise Wrong(f"other bytes than those of {self.digest}")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    @property
    def patience_s(self) -> float:
        """How long all of it may take beyond the patience with a silent server."""
        return self.size / SLOWEST


class RemoteCache(Protocol):
    """Safe between threads. All methods may raise Trouble; retries are done by then."""

    def result(self, action: Digest, size: int, /) -> bytes | None:
        """What is kept for an action, `size` being that of the action's own bytes."""
        ...

    def put_result(self, action: Digest, size: int, result: bytes, /) -> None: ...

    def missing(self, wanted: Mapping[Digest, int]) -> set[Digest]:
        """Which of these contents it has not."""
        ...

    def upload(self, contents: Iterable[Content]) -> None: ...

    def fetch(self, landings: Iterable[Landing]) -> dict[Digest, str]:
        """Fill the landings; of those that could not be, what was wrong: gone, or not as asked."""
        ...

    def close(self) -> None: ...


GONE = "it is gone"


def landed(landing: Landing, fill: Callable[[Landing], bool]) -> str | None:
    """Fetch one; None when it is whole, else what was wrong. `fill` says whether it is there."""
    try:
        landing.start()
        if not fill(landing):
            return GONE
        landing.end()
    except Wrong as wrong:
        return str(wrong)
    finally:
        landing.close()
    return None


def several(do: Callable[[T], object], items: Iterable[T]) -> None:
    """`do` each of them, some at once; the first error is raised when all have ended."""
    items = list(items)
    if len(items) < 2:
        for item in items:
            do(item)
        return
    with ThreadPoolExecutor(min(AT_ONCE, len(items))) as pool:
        for done in [pool.submit(do, item) for item in items]:
            done.result()
