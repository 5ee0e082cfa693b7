"""A remote cache in memory, as a build sees one, and builders that use it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from qnnbuild.digest import Digest
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.store import Store
from qnnbuild.errors import Problem
from qnnbuild.model.remote_cache import READ, WRITE, RemoteCache
from qnnbuild.remote.cache import Content, Landing, landed
from tests.unit.engine.fake_world import Remote


@dataclass
class FakeCache:
    """`asked` tells what was wanted of it, in order; `fails` is raised by every method."""

    results: dict[Digest, bytes] = field(default_factory=dict)
    contents: dict[Digest, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    fails: Exception | None = None
    changes: Callable[[bytes], bytes] = bytes  # what it gives in place of contents
    before_upload: Callable[[], None] = lambda: None

    def _hear(self, what: str) -> None:
        self.asked.append(what)
        if self.fails is not None:
            raise self.fails

    def result(self, action: Digest, size: int, /) -> bytes | None:
        self._hear("result")
        return self.results.get(action)

    def put_result(self, action: Digest, size: int, result: bytes, /) -> None:
        self._hear("put result")
        self.results[action] = result

    def missing(self, wanted: Mapping[Digest, int]) -> set[Digest]:
        self._hear("missing")
        return wanted.keys() - self.contents.keys()

    def upload(self, contents: Iterable[Content]) -> None:
        self._hear("upload")
        self.before_upload()
        for content in contents:
            with content.opened() as file:
                self.contents[content.digest] = file.read()

    def fetch(self, landings: Iterable[Landing]) -> dict[Digest, str]:
        failed = {}
        for landing in landings:
            self._hear("fetch")
            wrong = landed(landing, self._fill)
            if wrong:
                failed[landing.digest] = wrong
        return failed

    def _fill(self, landing: Landing) -> bool:
        if landing.digest not in self.contents:
            return False
        landing.write(self.changes(self.contents[landing.digest]))
        return True

    def close(self) -> None:
        """Nothing is open."""


def using(cache: FakeCache, told: list[Problem] | None = None, *, writes: bool = False) -> Remote:
    problems: list[Problem] = [] if told is None else told

    def remote(store: Store, records: Records) -> RemoteStore:
        return RemoteStore(
            store,
            records,
            settings=RemoteCache(url="https://cache", mode=WRITE if writes else READ),
            opened=lambda: cache,
            tell=problems.append,
        )

    return remote
