"""How files come to workers and back, by digest: the build's side.

Either both sides see one store, which is proven by a file in it, or a remote cache is between.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from qnnbuild.actions.record import Tree
from qnnbuild.cluster.message import Way
from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.engine.remote_store import RemoteStore, files_of
from qnnbuild.engine.runner import Stage
from qnnbuild.engine.store import Store, place
from qnnbuild.errors import StoreError, ToolError
from qnnbuild.model.remote_cache import RemoteCache as CacheSettings
from qnnbuild.remote.cache import Content, RemoteCache, Trouble

PROOFS = "builds"
LATE_S = 30.0
"""How long another machine's file may take to be seen in a network file system: what a machine
has once missed it may believe to be missing for half a minute."""


class Carrier(Protocol):
    """Safe between threads."""

    way: Way

    def reaches(self, tree: Tree) -> bool:
        """Whether workers can have these artifacts although they are not in this store."""
        ...

    def offer(self, stages: Mapping[str, Stage]) -> None:
        """Have all inputs where workers take them from."""
        ...

    def take(self, outputs: Mapping[str, Tree]) -> None:
        """What a worker made is the build's now. Raises StoreError when it is not there."""
        ...

    def lost(self, digests: Iterable[Digest]) -> None:
        """A worker could not have these."""
        ...

    def close(self) -> None: ...


class OneStore:
    """The build's own store, at the same path on all machines."""

    def __init__(self, store: Store) -> None:
        self.store = store
        name, text = f"{PROOFS}/{secrets.token_hex(8)}.seen", secrets.token_bytes(32)
        self._proof = store.root.absolute() / name
        place(self._proof, text)
        root = str(store.root.absolute())
        self.way = Way(kind="store", store=root, proof=(name, digest_bytes(text)))

    def reaches(self, _: Tree) -> bool:
        return False

    def offer(self, stages: Mapping[str, Stage]) -> None:
        for stage in stages.values():
            keep(self.store, stage)

    def take(self, outputs: Mapping[str, Tree]) -> None:
        end = time.monotonic() + LATE_S
        for digest, size in files_of(outputs.values()):
            while not self.store.whole(digest, size):
                if time.monotonic() > end:
                    raise StoreError(
                        "what a worker made is not in the store, as this machine sees it",
                        facts=[("artifact", str(self.store.path(digest)))],
                        hint="mount the network file system with lookupcache=positive, or use a "
                        "remote cache between build and workers",
                    )
                time.sleep(0.2)

    def lost(self, digests: Iterable[Digest]) -> None:
        raise StoreError(
            "a worker does not see what this machine has in the store",
            facts=[("artifact", str(self.store.path(digest))) for digest in digests],
            hint="mount the network file system with lookupcache=positive, or use a remote cache "
            "between build and workers",
        )

    def close(self) -> None:
        self._proof.unlink(missing_ok=True)


class ThroughCache:
    """A remote cache that both sides may write to. What workers make stays there until needed."""

    def __init__(
        self, remote: RemoteStore, settings: CacheSettings, opened: Callable[[], RemoteCache]
    ) -> None:
        self.remote = remote
        self.store = remote.store
        self.way = Way(kind="cache", cache=asdict(settings))
        self._opened = opened
        self._cache: RemoteCache | None = None
        self._there: set[Digest] = set()
        self._lock = threading.Lock()

    def reaches(self, tree: Tree) -> bool:
        return all(digest in self._there or self.remote.has(digest) for digest in _digests(tree))

    def offer(self, stages: Mapping[str, Stage]) -> None:
        wanted: dict[Digest, int] = {}
        for stage in stages.values():
            if not self.reaches(stage.tree):
                keep(self.store, stage)
                wanted.update(files_of([stage.tree]))
        wanted = {d: size for d, size in wanted.items() if d not in self._there}
        if wanted:
            with trouble_told():
                self._upload(wanted)
            self._there |= wanted.keys()

    def _upload(self, wanted: Mapping[Digest, int]) -> None:
        cache = self._client()
        missing = cache.missing(wanted)
        cache.upload(content(self.store, digest, wanted[digest]) for digest in missing)

    def take(self, outputs: Mapping[str, Tree]) -> None:
        files = dict(files_of(outputs.values()))
        self._there |= files.keys()
        self.remote.promised(files)

    def lost(self, digests: Iterable[Digest]) -> None:
        digests = set(digests)
        self._there -= digests
        self.remote.gone(digests)

    def close(self) -> None:
        with self._lock:
            cache, self._cache = self._cache, None
        if cache is not None:
            cache.close()

    def _client(self) -> RemoteCache:
        with self._lock:
            if self._cache is None:
                self._cache = self._opened()
            return self._cache


def keep(store: Store, stage: Stage) -> None:
    """Have the files of an input in the store, sources of the repo too."""
    if all(store.whole(digest, size) for digest, size in stage.tree.files.values()):
        return
    with store.private() as folder:
        stage(folder)
        for path in stage.tree.files:
            store.add(folder / path)


def content(store: Store, digest: Digest, size: int) -> Content:
    opened: Callable[[], Any] = partial(Path.open, store.path(digest), "rb")
    return Content(digest=digest, size=size, opened=opened)


@contextmanager
def trouble_told() -> Iterator[None]:
    """A cache between build and workers is no mere help: without it nothing can be run."""
    try:
        yield
    except Trouble as trouble:
        raise ToolError(
            f"the remote cache between build and workers cannot be used: {trouble}",
            hint="mend it, or let workers see the store's folder",
        ) from trouble


def _digests(tree: Tree) -> Iterable[Digest]:
    return (digest for digest, _ in tree.files.values())
