"""The Remote Execution API v2: ActionCache, ContentAddressableStorage, ByteStream, Capabilities."""

from __future__ import annotations

import importlib.util
import threading
import uuid
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

import grpc

from qnnbuild.digest import Digest
from qnnbuild.remote import reapi_pb2 as api
from qnnbuild.remote.cache import EMPTY, SLOWEST, Content, Landing, Trouble, Wrong, landed, several
from qnnbuild.remote.grpc_calls import Calls, in_words, is_code

BATCH = (4 << 20) - (64 << 10)
"""Bytes of one message: servers take 4 MiB unless they say less, and names need room too."""

PART = 1 << 20
ABOUT_EACH = 200
"""Bytes of a message that tell of one file beside its contents, at most."""

TRIES = 3
"""How often a stream goes on where it broke off without having moved."""

ASKED_AT_ONCE = 5000
BROKEN = ("UNAVAILABLE", "ABORTED", "INTERNAL", "UNKNOWN")
SHA256 = api.DigestFunction.SHA256


class GrpcCache:
    def __init__(
        self, url: str, *, instance: str, timeout_s: float, headers: Mapping[str, str]
    ) -> None:
        self.instance = instance
        self._calls = Calls(url, timeout_s=timeout_s, headers=headers)
        self._knows: Any = None
        self._lock = threading.Lock()

    def result(self, action: Digest, size: int, /) -> bytes | None:
        from qnnbuild.remote.result import RECORD, SIGNATURE

        request = api.GetActionResultRequest(
            instance_name=self.instance,
            action_digest=api.Digest(hash=action, size_bytes=size),
            inline_output_files=[RECORD, SIGNATURE],
            digest_function=SHA256,
        )
        with in_words():
            try:
                found: bytes = self._calls.result(request).SerializeToString()
            except grpc.RpcError as error:
                if is_code(error, "NOT_FOUND"):
                    return None
                raise
        return found

    def put_result(self, action: Digest, size: int, result: bytes, /) -> None:
        request = api.UpdateActionResultRequest(
            instance_name=self.instance,
            action_digest=api.Digest(hash=action, size_bytes=size),
            action_result=api.ActionResult.FromString(result),
            digest_function=SHA256,
        )
        with in_words():
            self._calls.update(request)

    def missing(self, wanted: Mapping[Digest, int]) -> set[Digest]:
        digests = [_digest(digest, size) for digest, size in wanted.items()]
        found: set[Digest] = set()
        for begin in range(0, len(digests), ASKED_AT_ONCE):
            request = api.FindMissingBlobsRequest(
                instance_name=self.instance,
                blob_digests=digests[begin : begin + ASKED_AT_ONCE],
                digest_function=SHA256,
            )
            with in_words():
                answer = self._calls.missing(request)
            found.update(digest.hash for digest in answer.missing_blob_digests)
        return found & wanted.keys()

    # --- sending ----------------------------------------------------------------------------

    def upload(self, contents: Iterable[Content]) -> None:
        small, large = self._by_size(contents)
        several(self._put, small)
        several(self._write, large)

    def _put(self, batch: list[Content]) -> None:
        request = api.BatchUpdateBlobsRequest(instance_name=self.instance, digest_function=SHA256)
        for content in batch:
            with content.opened() as file:
                digest = _digest(content.digest, content.size)
                request.requests.add(digest=digest, data=file.read(content.size + 1))
        with in_words():
            answer = self._calls.put(request)
        taken = {one.digest.hash for one in answer.responses if one.status.code == 0}
        if not {content.digest for content in batch} <= taken:
            codes = {one.status.code for one in answer.responses} - {0}
            raise Trouble(f"it does not take what is sent (code {min(codes, default=0)})")

    def _write(self, content: Content) -> None:
        """A stream that goes on where the server says that it broke off."""
        name = self._upload_name(content)
        tries, offset = TRIES, 0
        with in_words():
            while True:
                try:
                    with content.opened() as file:
                        requests = self._requests(name, file, offset)
                        taken = self._calls.write(requests, content.size / SLOWEST)
                    if not self._packs and taken not in (content.size, -1):
                        raise Trouble(f"it takes {taken:,} of {content.size:,} bytes")
                except grpc.RpcError as error:
                    if not is_code(error, *BROKEN) or tries == 0:
                        raise
                else:
                    return
                before, offset = offset, self._written(name)
                if offset < 0:
                    return
                tries = TRIES if offset > before else tries - 1

    def _written(self, name: str) -> int:
        """How much of a resource the server has; -1 for all of it, 0 when it cannot tell."""
        request = api.QueryWriteStatusRequest(resource_name=name)
        try:
            answer = self._calls.written(request)
        except grpc.RpcError as error:
            if is_code(error, "NOT_FOUND", "UNIMPLEMENTED", *BROKEN):
                return 0
            raise
        return -1 if answer.complete else max(0, answer.committed_size)

    def _requests(self, name: str, file: BinaryIO, offset: int) -> Iterator[Any]:
        """What of `file` comes after `offset`, which counts the bytes as they are sent."""
        at, waiting = 0, b""
        for part in self._parts(file):
            at += len(part)
            part = part[max(0, len(part) - (at - offset)) :]  # noqa: PLW2901
            if part and waiting:
                yield self._request(name, offset, waiting)
                offset += len(waiting)
            waiting = part or waiting
        yield self._request(name, offset, waiting, last=True)

    def _request(self, name: str, offset: int, data: bytes, *, last: bool = False) -> Any:
        return api.WriteRequest(
            resource_name=name, write_offset=offset, data=data, finish_write=last
        )

    def _parts(self, file: BinaryIO) -> Iterator[bytes]:
        if self._packs:
            from qnnbuild.remote.zstd import packed

            yield from packed(file)
        else:
            yield from iter(partial(file.read, PART), b"")

    def _upload_name(self, content: Content) -> str:
        kind = "compressed-blobs/zstd" if self._packs else "blobs"
        return self._name(f"uploads/{uuid.uuid4()}/{kind}/{content.digest}/{content.size}")

    def _name(self, name: str) -> str:
        return f"{self.instance}/{name}" if self.instance else name

    # --- fetching ---------------------------------------------------------------------------

    def fetch(self, landings: Iterable[Landing]) -> dict[Digest, str]:
        failed: dict[Digest, str] = {}
        small, large = self._by_size(landings)
        several(partial(self._get, failed), small)
        several(partial(self._read, failed), large)
        return failed

    def _get(self, failed: dict[Digest, str], batch: list[Landing]) -> None:
        request = api.BatchReadBlobsRequest(
            instance_name=self.instance,
            digests=[_digest(one.digest, one.size) for one in batch if one.digest != EMPTY],
            digest_function=SHA256,
        )
        with in_words():
            answer = self._calls.get(request) if request.digests else api.BatchReadBlobsResponse()
        sent = {one.digest.hash: one for one in answer.responses}

        def fill(landing: Landing) -> bool:
            if landing.digest == EMPTY:
                return True
            one = sent.get(landing.digest)
            if one is None or one.status.code == grpc.StatusCode.NOT_FOUND.value[0]:
                return False
            if one.status.code != 0:
                raise Trouble(f"it does not give what it has (code {one.status.code})")
            landing.write(one.data)
            return True

        for landing in batch:
            wrong = landed(landing, fill)
            if wrong is not None:
                failed[landing.digest] = wrong

    def _read(self, failed: dict[Digest, str], landing: Landing) -> None:
        wrong = landed(landing, self._fill)
        if wrong is not None:
            failed[landing.digest] = wrong

    def _fill(self, landing: Landing) -> bool:
        """A stream that goes on where it broke off."""
        tries = TRIES
        with in_words():
            while True:
                before = landing.count
                try:
                    for part in self._stream(landing):
                        landing.write(part)
                except grpc.RpcError as error:
                    if is_code(error, "NOT_FOUND"):
                        return False
                    tries = TRIES if landing.count > before else tries - 1
                    if not is_code(error, *BROKEN) or tries == 0:
                        raise
                else:
                    return True

    def _stream(self, landing: Landing) -> Iterator[bytes]:
        kind = "compressed-blobs/zstd" if self._packs else "blobs"
        name = self._name(f"{kind}/{landing.digest}/{landing.size}")
        parts = self._calls.read(name, landing.count, landing.patience_s)
        if not self._packs:
            yield from parts
            return
        import zstandard

        from qnnbuild.remote.zstd import unpacked

        try:
            yield from unpacked(parts)
        except zstandard.ZstdError as error:
            raise Wrong(f"no Zstandard for {landing.digest}") from error

    # --- what the server is -----------------------------------------------------------------

    @property
    def _capabilities(self) -> Any:
        """Asked once; a server that does not tell is taken for a plain one."""
        with self._lock:
            if self._knows is None:
                self._knows = self._asked()
            return self._knows

    def _asked(self) -> Any:
        request = api.GetCapabilitiesRequest(instance_name=self.instance)
        with in_words():
            try:
                knows = self._calls.capabilities(request).cache_capabilities
            except grpc.RpcError as error:
                if not is_code(error, "UNIMPLEMENTED", "NOT_FOUND"):
                    raise
                return api.CacheCapabilities()
        if knows.digest_functions and SHA256 not in knows.digest_functions:
            raise Trouble("it knows contents by other digests than SHA256")
        return knows

    @property
    def _packs(self) -> bool:
        """Whether streams are compressed: where the server can, and zstandard is installed."""
        return (
            api.Compressor.ZSTD in self._capabilities.supported_compressors
            and importlib.util.find_spec("zstandard") is not None
        )

    def _by_size(self, items: Iterable[Any]) -> tuple[list[list[Any]], list[Any]]:
        """Batches of what is small, and what goes by itself."""
        said = self._capabilities.max_batch_total_size_bytes
        room = min(BATCH, said) if said > 0 else BATCH
        batches: list[list[Any]] = []
        large, left = [], 0
        for item in sorted(items, key=lambda item: item.size):
            size = item.size + ABOUT_EACH
            if size > room:
                large.append(item)
                continue
            if not batches or size > left:
                batches.append([])
                left = room
            batches[-1].append(item)
            left -= size
        return batches, large

    def close(self) -> None:
        self._calls.close()


def _digest(digest: Digest, size: int) -> Any:
    return api.Digest(hash=digest, size_bytes=size)
