"""The store's way to a remote cache: what others made is taken, what is made here is shared.

Nothing that goes wrong on this way stops a build. What is asked for is made here instead, it is
told once, and a cache that cannot be used is left alone for the rest of the build.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import BinaryIO, TypeVar

from qnnbuild.actions.action import Action
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import Digest, Json, digest_bytes
from qnnbuild.engine.records import Records
from qnnbuild.engine.store import Store
from qnnbuild.errors import Problem
from qnnbuild.model.remote_cache import RemoteCache as Settings
from qnnbuild.remote.cache import GONE, Content, Landing, RemoteCache, Trouble, Wrong

UPLOADS = 2
"""How many actions are shared at the same time, each with a few files at once."""

LOG_LIMIT = 4 << 20
"""Bytes at the end of a log that are shared with what it is about."""

ENOUGH = 3
"""After so many wrong answers nothing more is asked of a cache."""

Files = Mapping[Digest, int]
Tell = Callable[[Problem], None]
Opened = Callable[[], RemoteCache]
T = TypeVar("T")


class RemoteStore:
    """Without `opened` there is no remote cache, and nothing is ever there or kept."""

    def __init__(
        self,
        store: Store,
        records: Records,
        *,
        settings: Settings | None = None,
        opened: Opened | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self.store = store
        self.records = records
        self.settings = settings
        self._opened = opened
        self._tell = tell
        self._elsewhere = records.elsewhere() if settings is not None else {}
        self._lost: set[Digest] = set()
        self._cache: RemoteCache | None = None
        self._is_off = settings is None or opened is None
        self._wrong = 0
        self._stopped = threading.Event()
        self._coming = threading.Condition()
        self._claims: set[Digest] = set()
        self._lock = threading.RLock()
        self._uploads: ThreadPoolExecutor | None = None
        self._shared: list[Future[None]] = []

    def has(self, digest: Digest) -> bool:
        """Whether the remote cache had it when it was last heard of; asks nobody."""
        if digest in self._lost or self.settings is None:
            return False
        if digest not in self._elsewhere:  # another build of the same store may have heard since
            size = self.records.size_elsewhere(digest)
            if size is None:
                return False
            self._elsewhere[digest] = size
        return True

    # --- taking -----------------------------------------------------------------------------

    def find(self, action: Action, key: Digest, parts: Mapping[str, Json]) -> Record | None:
        """The record that another machine made for `key`; its artifacts stay where they are."""
        if self._is_off:
            return None
        what = f"the result of {action.name}"
        record = self._tried(what, partial(self._find, action, key, parts))
        if record is None:
            return None
        files = self._absent(files_of(record.outputs.values()))
        if files.keys() & self._lost:
            return None
        self._elsewhere.update(files)
        if files:
            self.records.keep_elsewhere(files)
        return record

    def _find(self, action: Action, key: Digest, parts: Mapping[str, Json]) -> Record | None:
        from qnnbuild.remote.result import asked, found_in, record_of

        wanted = asked(key, action.step, action.outputs)
        cache = self._client()
        result = cache.result(wanted.digest, len(wanted.action))
        if result is None:
            return None
        found = found_in(result, action.outputs)
        text = found.contents or self._read(cache, *found.record)
        if text is None:
            return None
        return record_of(found, text, key=key, name=action.name, step=action.step, parts=parts)

    def _read(self, cache: RemoteCache, digest: Digest, size: int) -> bytes | None:
        with self.store.private() as folder:
            landing = Landing(digest=digest, size=size, path=folder / "record")
            what = cache.fetch([landing]).get(digest)
            if what == GONE:
                return None
            if what is not None:
                raise Wrong(what)
            return landing.path.read_bytes()

    def bring(self, files: Iterable[tuple[Digest, int]]) -> bool:
        """Have these artifacts in the store; False when one is neither here nor to be had.

        What is not to be had is remembered: it is no longer there for `has`.
        """
        wanted = self._absent(files)
        if not wanted:
            return True
        with self._claimed(wanted.keys()):
            wanted = self._absent(wanted.items())
            there = {digest: size for digest, size in wanted.items() if self.has(digest)}
            if there and not self._is_off:
                self._tried("what is needed", partial(self._fetch, there))
            lost = self._absent(wanted.items()).keys()
        self._lost |= lost
        return not lost

    def _absent(self, files: Iterable[tuple[Digest, int]]) -> dict[Digest, int]:
        return {digest: size for digest, size in files if not self.store.whole(digest, size)}

    @contextmanager
    def _claimed(self, digests: AbstractSet[Digest]) -> Iterator[None]:
        """For this thread alone: what several actions take is fetched once."""
        with self._coming:
            while digests & self._claims:
                self._coming.wait()
            self._claims |= digests
        try:
            yield
        finally:
            with self._coming:
                self._claims -= digests
                self._coming.notify_all()

    def _fetch(self, files: Files) -> None:
        with self.store.private() as folder:
            landings = [
                Landing(digest=digest, size=size, path=folder / digest)
                for digest, size in files.items()
            ]
            failed = self._client().fetch(landings)
            for landing in landings:
                if landing.digest not in failed:
                    self.store.add(landing.path)
        self.records.drop_elsewhere(failed)
        for what in failed.values():
            if what != GONE:  # that is no lie: caches forget what nobody asked for
                raise Wrong(what)

    # --- sharing ----------------------------------------------------------------------------

    def share(self, record: Record) -> None:
        """Upload what was made, beside the build."""
        if self._is_off or self.settings is None or not self.settings.writes:
            return
        with self._lock:
            if self._uploads is None:
                self._uploads = ThreadPoolExecutor(UPLOADS, thread_name_prefix="upload")
            self._shared = [upload for upload in self._shared if not upload.done()]
            self._shared.append(self._uploads.submit(self._share, record))

    def _share(self, record: Record) -> None:
        if not self._is_off:
            self._tried(f"an upload of {record.name}", partial(self._upload, record))

    def _upload(self, record: Record) -> None:
        from qnnbuild.remote.result import asked, is_safe, result_of

        if not all(is_safe(path) for tree in record.outputs.values() for path in tree.files):
            return  # whoever finds it would refuse it
        log = self._log(record.key)
        result, text = result_of(record, log)
        wanted = asked(record.key, record.step, tuple(record.outputs))
        contents = [_in_memory(data) for data in (*wanted.parts, text, log) if data is not None]
        for digest, size in files_of(record.outputs.values()):
            # a damaged file under a good name would be damaged for everybody
            if not self.store.whole(digest, size):
                return
            opened = partial(self._open, self.store.path(digest))
            contents.append(Content(digest=digest, size=size, opened=opened))
        cache = self._client()
        missing = cache.missing({content.digest: content.size for content in contents})
        sent = {content.digest: content for content in contents if content.digest in missing}
        cache.upload(sent.values())
        # last: who finds the result finds all that it promises
        cache.put_result(wanted.digest, len(wanted.action), result)

    def _open(self, path: Path) -> BinaryIO:
        return _Stoppable(path, self._stopped)

    def _log(self, key: Digest) -> bytes | None:
        try:
            with self.store.log(key).open("rb") as file:
                file.seek(max(0, file.seek(0, io.SEEK_END) - LOG_LIMIT))
                return file.read() or None
        except OSError:
            return None

    # --- around a build ---------------------------------------------------------------------

    def finish(self) -> None:
        """Wait until everything is shared."""
        with self._lock:
            shared, self._shared = self._shared, []
        wait(shared)
        for upload in shared:
            if not upload.cancelled():
                upload.result()  # troubles were told; what is raised here is a mistake of ours

    def cancel(self) -> None:
        """Nothing more is asked or shared, and what is on its way ends."""
        self._is_off = True
        self._stopped.set()
        for upload in self._shared:
            upload.cancel()

    def close(self) -> None:
        self.cancel()
        if self._uploads is not None:
            self._uploads.shutdown(wait=True, cancel_futures=True)
        if self._cache is not None:
            self._cache.close()

    def _client(self) -> RemoteCache:
        with self._lock:
            if self._cache is None:
                assert self._opened is not None
                self._cache = self._opened()
            return self._cache

    def _tried(self, what: str, do: Callable[[], T]) -> T | None:
        """What goes wrong is told, and the build goes on without."""
        try:
            return do()
        except Trouble as trouble:
            self._leave(f"the remote cache is not used any more: {trouble}", (("asked for", what),))
        except OSError as error:
            self._leave(f"the remote cache is not used any more: {error.strerror or error}", ())
        except Wrong as wrong:
            self._mind(what, wrong)
        return None

    def _mind(self, what: str, wrong: Wrong) -> None:
        with self._lock:
            self._wrong += 1
            count = self._wrong
        if count == 1:
            message = f"the remote cache is wrong about {what}: it sent {wrong}"
            hint = f"it is made here; after {ENOUGH} such answers nothing more is asked"
            self._warn(message, (), hint)
        elif count >= ENOUGH:
            self._is_off = True

    def _leave(self, message: str, facts: tuple[tuple[str, str], ...]) -> None:
        with self._lock:
            if self._is_off:
                return
            self._is_off = True
        self._warn(message, facts, "the build goes on without it")

    def _warn(self, message: str, facts: tuple[tuple[str, str], ...], hint: str) -> None:
        url = self.settings.url if self.settings is not None else ""
        self._tell(
            Problem(message=message, facts=(("cache", url), *facts), hint=hint, severity="warning")
        )


def files_of(trees: Iterable[Tree]) -> Iterator[tuple[Digest, int]]:
    for tree in trees:
        yield from tree.files.values()


def _in_memory(data: bytes) -> Content:
    return Content(digest=digest_bytes(data), size=len(data), opened=partial(io.BytesIO, data))


class _Stoppable(io.BufferedReader):
    """A file of an upload, which may take long: it ends when the build is stopped."""

    def __init__(self, path: Path, stopped: threading.Event) -> None:
        super().__init__(io.FileIO(path))
        self.stopped = stopped

    def read(self, size: int | None = -1) -> bytes:
        if self.stopped.is_set():
            raise Trouble("the build was stopped")
        return super().read(size)
