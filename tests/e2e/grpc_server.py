"""A server of the Remote Execution API on the loopback that counts, packs, breaks and lies as told.

BuildGrid is the real one that is tested against; it neither packs nor breaks off.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import zstandard

from qnnbuild.digest import digest_bytes
from qnnbuild.remote import reapi_pb2 as api

PART = 1 << 16
METHODS: dict[str, dict[str, Any]] = {
    "build.bazel.remote.execution.v2.Capabilities": {
        "GetCapabilities": api.GetCapabilitiesRequest,
    },
    "build.bazel.remote.execution.v2.ActionCache": {
        "GetActionResult": api.GetActionResultRequest,
        "UpdateActionResult": api.UpdateActionResultRequest,
    },
    "build.bazel.remote.execution.v2.ContentAddressableStorage": {
        "FindMissingBlobs": api.FindMissingBlobsRequest,
        "BatchUpdateBlobs": api.BatchUpdateBlobsRequest,
        "BatchReadBlobs": api.BatchReadBlobsRequest,
    },
    "google.bytestream.ByteStream": {
        "Read": api.ReadRequest,
        "Write": api.WriteRequest,
        "QueryWriteStatus": api.QueryWriteStatusRequest,
    },
}


@dataclass
class GrpcServer:
    """`kept` is digest → contents, `results` digest of an action → its result."""

    packs: bool = False
    room: int = 0  # bytes of a batch; 0 is what a server says that has no limit
    breaks_after: list[int] = field(default_factory=list)  # bytes of the next streams
    refuses: dict[str, grpc.StatusCode] = field(default_factory=dict)
    hangs: set[str] = field(default_factory=set)
    changes: Callable[[bytes], bytes] = bytes
    kept: dict[str, bytes] = field(default_factory=dict)
    results: dict[str, Any] = field(default_factory=dict)
    half: dict[str, bytes] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    offsets: list[int] = field(default_factory=list)
    saw: set[str] = field(default_factory=set)
    url: str = ""

    def get_capabilities(self, _: Any, context: Any) -> Any:
        kinds = [api.Compressor.ZSTD] if self.packs else []
        return api.ServerCapabilities(
            cache_capabilities=api.CacheCapabilities(
                digest_functions=[api.DigestFunction.SHA256],
                max_batch_total_size_bytes=self.room,
                supported_compressors=kinds,
            )
        )

    def get_action_result(self, request: Any, context: Any) -> Any:
        found = self.results.get(request.action_digest.hash)
        if found is None:
            context.abort(grpc.StatusCode.NOT_FOUND, "no")
        return found

    def update_action_result(self, request: Any, context: Any) -> Any:
        assert {file.digest.hash for file in request.action_result.output_files} <= set(self.kept)
        assert request.action_digest.hash in self.kept
        self.results[request.action_digest.hash] = request.action_result
        return request.action_result

    def find_missing_blobs(self, request: Any, context: Any) -> Any:
        missing = [d for d in request.blob_digests if d.hash not in self.kept]
        return api.FindMissingBlobsResponse(missing_blob_digests=missing)

    def batch_update_blobs(self, request: Any, context: Any) -> Any:
        answer = api.BatchUpdateBlobsResponse()
        for one in request.requests:
            assert digest_bytes(one.data) == one.digest.hash
            self.kept[one.digest.hash] = one.data
            answer.responses.add(digest=one.digest)
        return answer

    def batch_read_blobs(self, request: Any, context: Any) -> Any:
        answer = api.BatchReadBlobsResponse()
        for digest in request.digests:
            data = self.kept.get(digest.hash)
            if data is None:
                answer.responses.add(digest=digest, status=api.Status(code=5))
            else:
                answer.responses.add(digest=digest, data=self.changes(data))
        return answer

    def read(self, request: Any, context: Any) -> Iterator[Any]:
        *_, kind, digest, _size = request.resource_name.split("/")
        self.offsets.append(request.read_offset)
        if digest not in self.kept:
            context.abort(grpc.StatusCode.NOT_FOUND, "no")
        data = self.changes(self.kept[digest])[request.read_offset :]
        if kind == "zstd":
            data = zstandard.compress(data)
        until = self.breaks_after.pop(0) if self.breaks_after else len(data)
        for begin in range(0, min(until, len(data)), PART):
            yield api.ReadResponse(data=data[begin : begin + PART])
        if until < len(data):
            context.abort(grpc.StatusCode.INTERNAL, "the stream broke off")

    def write(self, requests: Iterator[Any], context: Any) -> Any:
        until = self.breaks_after.pop(0) if self.breaks_after else None
        name, data = "", b""
        for request in requests:
            if not name:
                name = request.resource_name
                self.offsets.append(request.write_offset)
                data = self.half.pop(name, b"")
            assert request.write_offset == len(data)
            data += request.data
            if until is not None and len(data) >= until:
                self.half[name] = data
                context.abort(grpc.StatusCode.INTERNAL, "the stream broke off")
            if request.finish_write:
                break
        *_, kind, digest, _size = name.split("/")
        contents = (
            zstandard.ZstdDecompressor().decompressobj().decompress(data)
            if kind == "zstd"
            else data
        )
        assert digest_bytes(contents) == digest
        self.kept[digest] = contents
        return api.WriteResponse(committed_size=len(data))

    def query_write_status(self, request: Any, context: Any) -> Any:
        return api.QueryWriteStatusResponse(
            committed_size=len(self.half.get(request.resource_name, b""))
        )

    def heard(self, name: str, context: Any) -> None:
        self.asked[name] += 1
        self.saw.update(
            value for key, value in context.invocation_metadata() if key == "authorization"
        )
        if name in self.hangs:
            time.sleep(3)
        if name in self.refuses:
            context.abort(self.refuses[name], "secret words of a server")


def _handler(server: GrpcServer, name: str, request: Any) -> grpc.RpcMethodHandler:
    snake = "".join(f"_{c.lower()}" if c.isupper() else c for c in name).lstrip("_")
    do = getattr(server, snake)

    def answer(asked: Any, context: Any) -> Any:
        server.heard(name, context)
        return do(asked, context)

    def stream(asked: Any, context: Any) -> Iterator[Any]:
        server.heard(name, context)
        yield from do(asked, context)

    kind = {
        "Read": grpc.unary_stream_rpc_method_handler,
        "Write": grpc.stream_unary_rpc_method_handler,
    }.get(name, grpc.unary_unary_rpc_method_handler)
    return kind(
        stream if name == "Read" else answer,
        request_deserializer=request.FromString,
        response_serializer=lambda message: message.SerializeToString(),
    )


@contextmanager
def grpc_server(**how: Any) -> Iterator[GrpcServer]:
    told = GrpcServer(**how)
    server = grpc.server(ThreadPoolExecutor(16))
    for service, methods in METHODS.items():
        handlers = {name: _handler(told, name, request) for name, request in methods.items()}
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, handlers),))
    told.url = f"grpc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    try:
        yield told
    finally:
        server.stop(None).wait()
