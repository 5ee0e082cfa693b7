"""The store's way to a remote cache: what others made is taken, what is made here is shared.

Nothing that goes wrong on this way stops a build. What is asked for is made here instead, it is
told once, and a cache that cannot be used is left alone for the rest of the build.
"""

from __future__ import annotations

import io
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, TypeVar

from qnnbuild.actions.action import Action
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import Digest, Json, digest_bytes
from qnnbuild.engine.records import Records
from qnnbuild.engine.result_signing import Signing, Unsigned
from qnnbuild.engine.store import Store
from qnnbuild.errors import Problem
from qnnbuild.model.remote_cache import RemoteCache as Settings
from qnnbuild.remote.cache import GONE, Content, Landing, RemoteCache, Trouble, Wrong

if TYPE_CHECKING:
    from qnnbuild.remote.result import Enclosed

UPLOADS = 2
"""How many actions are shared at the same time, each with a few files at once."""

LOG_LIMIT = 4 << 20
"""Bytes at the end of a log that are shared with what it is about."""

ENOUGH = 3
"""After so many wrong answers nothing more is asked of a cache."""

UNSIGNED = (
    "it is made here, as are all others like it; results are signed where QNNBUILD_REMOTE_CACHE_"
    "SIGNING_KEY is set"
)

Files = Mapping[Digest, int]
Tell = Callable[[Problem], None]
Facts = tuple[tuple[str, str], ...]
Opened = Callable[[], RemoteCache]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Pushed:
    records: int
    files: int  # that were not there yet
    total_bytes: int


class RemoteStore:
    """Without `opened` there is no remote cache, and nothing is ever there or kept."""

    def __init__(
        self,
        store: Store,
        records: Records,
        *,
        settings: Settings | None = None,
        opened: Opened | None = None,
        signing: Signing | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        self.signing = signing or Signing()
        self._once: set[str] = set()
        self.store = store
        self.records = records
        self.settings = settings
        self.opened = opened
        self._tell = tell
        self._elsewhere = records.elsewhere() if settings is not None else {}
        self._lost: set[Digest] = set()
        self._cache: RemoteCache | None = None
        self._is_off = settings is None or opened is None
        self._wrong = 0
        self._without = "the build goes on without it"
        self._stopped = threading.Event()
        self._coming = threading.Condition()
        self._claims: set[Digest] = set()
        self._lock = threading.RLock()
        self._uploads: ThreadPoolExecutor | None = None
        self._shared: list[Future[Files | None]] = []

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

    def promised(self, files: Files) -> None:
        """The remote cache has these: whoever made them has just put them there."""
        absent = self._absent(files.items())
        self._lost -= files.keys()
        self._elsewhere.update(absent)
        if absent:
            self.records.keep_elsewhere(absent)

    def gone(self, digests: AbstractSet[Digest]) -> None:
        """It was asked for these and had them no longer."""
        self._lost |= digests
        self.records.drop_elsewhere(digests)

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
        text = self._contents(cache, found.record)
        if text is None:
            return None
        if self.signing.trusted:
            of = found.signature
            self.signing.check(self._contents(cache, of) if of else None, key, text)
        wanting = sum(self._absent(files_of(found.outputs.values())).values())
        if wanting > shutil.disk_usage(self.store.root).free:  # a true one is refused where it runs
            raise Wrong(f"a result of {wanting:,} bytes, for which the disk has no room")
        return record_of(found, text, key=key, name=action.name, step=action.step, parts=parts)

    def _contents(self, cache: RemoteCache, file: Enclosed) -> bytes | None:
        return file.contents or self._read(cache, file.digest, file.size)

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

    def push(self, records: Iterable[Record]) -> Pushed:
        """Share what was made before, now. What cannot be shared is told, and ends it."""
        self._without = "what it has by now is not sent again the next time"
        with ThreadPoolExecutor(UPLOADS) as pool:
            sent = [files for files in pool.map(self._share, records) if files is not None]
        digests = {digest: size for files in sent for digest, size in files.items()}
        return Pushed(records=len(sent), files=len(digests), total_bytes=sum(digests.values()))

    def _share(self, record: Record) -> Files | None:
        if self._is_off or not self._may_share():
            return None
        return self._tried(f"an upload of {record.name}", partial(self._upload, record))

    def _may_share(self) -> bool:
        """Where results are to be signed nothing is shared without: nobody would take it."""
        trouble = self.signing.trouble()
        if trouble is not None:
            message = f"nothing is shared with the remote cache: {trouble.message}"
            self._tell_once("not shared", message, trouble.facts, trouble.hint or self._without)
        return trouble is None

    def _upload(self, record: Record) -> Files | None:
        """What of it the cache had not; None when it cannot be shared."""
        from qnnbuild.remote.result import asked, is_safe, result_of

        if not all(is_safe(path) for tree in record.outputs.values() for path in tree.files):
            return None  # whoever finds it would refuse it
        log = self._log(record.key)
        signature = self.signing.sign(record.key, record.to_json().encode())
        result, text = result_of(record, log, signature)
        wanted = asked(record.key, record.step, tuple(record.outputs))
        more = (*wanted.parts, text, signature, log)
        contents = [_in_memory(data) for data in more if data is not None]
        elsewhere: dict[Digest, int] = {}
        for digest, size in files_of(record.outputs.values()):
            if self.store.whole(digest, size):
                opened = partial(self._open, self.store.path(digest))
                contents.append(Content(digest=digest, size=size, opened=opened))
            elif self.has(digest):  # a worker of a cluster made it and put it there
                elsewhere[digest] = size
            else:  # a damaged file under a good name would be damaged for everybody
                return None
        cache = self._client()
        missing = cache.missing({**elsewhere, **{c.digest: c.size for c in contents}})
        if missing & elsewhere.keys():
            return None
        sent = {content.digest: content for content in contents if content.digest in missing}
        cache.upload(sent.values())
        # last: who finds the result finds all that it promises
        cache.put_result(wanted.digest, len(wanted.action), result)
        return {content.digest: content.size for content in sent.values()}

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
                assert self.opened is not None
                self._cache = self.opened()
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
        except Unsigned as unsigned:
            message = f"{what} in the remote cache is not signed by a key that is trusted"
            facts = (("signed by", str(unsigned)),)
            self._tell_once("unsigned", message, facts, UNSIGNED)
        return None

    def _tell_once(self, what: str, message: str, facts: Facts, hint: str) -> None:
        with self._lock:
            if what in self._once:
                return
            self._once.add(what)
        self._warn(message, facts, hint)

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

    def _leave(self, message: str, facts: Facts) -> None:
        with self._lock:
            if self._is_off:
                return
            self._is_off = True
        self._warn(message, facts, self._without)

    def _warn(self, message: str, facts: Facts, hint: str) -> None:
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
