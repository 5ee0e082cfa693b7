"""How files come to a worker and back, by digest: the worker's side of `ways`."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from qnnbuild.actions.record import Tree
from qnnbuild.cluster.message import Way
from qnnbuild.cluster.ways import LATE_S, content, trouble_told
from qnnbuild.digest import Digest, digest_file
from qnnbuild.engine.remote_store import files_of
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.errors import StoreError
from qnnbuild.model.remote_cache import RemoteCache as CacheSettings
from qnnbuild.remote.cache import Landing, RemoteCache
from qnnbuild.remote.opening import open_cache

STORE = "QNNBUILD_STORE"


class Arrivals(Protocol):
    store: Store

    def bring(self, inputs: Mapping[str, Tree]) -> tuple[Digest, ...]:
        """Have all inputs in the store; which of them are not to be had."""
        ...

    def send(self, outputs: Mapping[str, Tree]) -> None:
        """Have all outputs where the build takes them from."""
        ...

    def close(self) -> None: ...


def arrivals(way: Way, scratch: Path, stats: Stats) -> Arrivals:
    """Raises StoreError when the build's store is not seen here, although it was to be.

    `scratch` is the worker's own folder, for a worker that has no store of its own.
    """
    if way.kind == "cache":
        folder = Path(os.environ.get(STORE) or scratch / "qnnbuild")
        return FromCache(CacheSettings(**way.cache), Store(folder, stats))
    if not sees(way):
        raise StoreError("the store of the build is not seen here", facts=[("store", way.store)])
    return InPlace(Store(Path(way.store), stats))


def sees(way: Way) -> bool:
    """Whether the folder is the build's: the file is there with the bytes that it should have."""
    name, digest = way.proof
    try:
        return digest_file(Path(way.store, name)) == digest and os.access(way.store, os.W_OK)
    except OSError:
        return False


class InPlace:
    """The build's store, seen by the worker."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def bring(self, inputs: Mapping[str, Tree]) -> tuple[Digest, ...]:
        """The build has looked at the bytes; here they need only be seen."""
        wanted = dict(files_of(inputs.values()))
        end = time.monotonic() + LATE_S
        while unseen := tuple(d for d, size in wanted.items() if not self._is_seen(d, size)):
            if time.monotonic() > end:
                return unseen
            time.sleep(0.2)
        return ()

    def _is_seen(self, digest: Digest, size: int) -> bool:
        signature = self.store.stats.signature(self.store.path(digest))
        return signature is not None and signature.size == size

    def send(self, outputs: Mapping[str, Tree]) -> None:
        """They are there."""

    def close(self) -> None:
        """It stays."""


class FromCache:
    """A remote cache between, with credentials of the worker's own environment."""

    def __init__(self, settings: CacheSettings, store: Store) -> None:
        self.store = store
        with trouble_told():
            self._cache: RemoteCache = open_cache(settings, os.environ)

    def bring(self, inputs: Mapping[str, Tree]) -> tuple[Digest, ...]:
        wanted = dict(files_of(inputs.values()))
        absent = {d: size for d, size in wanted.items() if not self.store.whole(d, size)}
        if not absent:
            return ()
        with self.store.private() as folder, trouble_told():
            landings = [Landing(digest=d, size=n, path=folder / d) for d, n in absent.items()]
            failed = self._cache.fetch(landings)
            for landing in landings:
                if landing.digest not in failed:
                    self.store.add(landing.path)
        return tuple(failed)

    def send(self, outputs: Mapping[str, Tree]) -> None:
        made = dict(files_of(outputs.values()))
        with trouble_told():
            missing = self._cache.missing(made)
            self._cache.upload(content(self.store, digest, made[digest]) for digest in missing)

    def close(self) -> None:
        self._cache.close()
