"""Calls of the Remote Execution API over gRPC: addresses, retries, patience, words for errors."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import grpc

from qnnbuild.remote import reapi_pb2
from qnnbuild.remote.cache import Trouble

LARGEST_MESSAGE = 32 << 20
REAPI = "build.bazel.remote.execution.v2"
BYTES = "google.bytestream.ByteStream"
RETRIES = {
    "methodConfig": [
        {
            "name": [{}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.2s",
                "maxBackoff": "2s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "ABORTED"],
            },
        }
    ]
}
WORDS = {
    grpc.StatusCode.UNAVAILABLE: "it cannot be reached",
    grpc.StatusCode.DEADLINE_EXCEEDED: "it does not answer in time",
    grpc.StatusCode.CANCELLED: "it does not answer in time",
    grpc.StatusCode.UNAUTHENTICATED: "it wants credentials, or others",
    grpc.StatusCode.PERMISSION_DENIED: "it does not let us do that",
    grpc.StatusCode.RESOURCE_EXHAUSTED: "it is full, or asked too much",
    grpc.StatusCode.UNIMPLEMENTED: "it does not speak the Remote Execution API",
}


class Calls:
    """The methods of a server; each may raise grpc.RpcError."""

    def __init__(self, url: str, *, timeout_s: float, headers: Mapping[str, str]) -> None:
        self.timeout_s = timeout_s
        self.metadata = tuple(headers.items())
        self._channel = _channel(url)
        r = reapi_pb2
        cas = f"{REAPI}.ContentAddressableStorage"
        self.capabilities = self._unary(
            f"{REAPI}.Capabilities/GetCapabilities", "ServerCapabilities"
        )
        self.result = self._unary(f"{REAPI}.ActionCache/GetActionResult", "ActionResult")
        self.update = self._unary(f"{REAPI}.ActionCache/UpdateActionResult", "ActionResult")
        self.missing = self._unary(f"{cas}/FindMissingBlobs", "FindMissingBlobsResponse")
        self.put = self._unary(f"{cas}/BatchUpdateBlobs", "BatchUpdateBlobsResponse")
        self.get = self._unary(f"{cas}/BatchReadBlobs", "BatchReadBlobsResponse")
        self.written = self._unary(f"{BYTES}/QueryWriteStatus", "QueryWriteStatusResponse")
        self._read = self._channel.unary_stream(
            f"/{BYTES}/Read",
            request_serializer=_serialized,
            response_deserializer=r.ReadResponse.FromString,
        )
        self._write = self._channel.stream_unary(
            f"/{BYTES}/Write",
            request_serializer=_serialized,
            response_deserializer=r.WriteResponse.FromString,
        )

    def _unary(self, method: str, answer: str) -> Callable[[Any], Any]:
        call = self._channel.unary_unary(
            f"/{method}",
            request_serializer=_serialized,
            response_deserializer=getattr(reapi_pb2, answer).FromString,
        )
        return lambda request: call(request, timeout=self.timeout_s, metadata=self.metadata)

    def read(self, name: str, offset: int, patience_s: float) -> Iterator[bytes]:
        """The bytes of a resource from `offset` on."""
        request = reapi_pb2.ReadRequest(resource_name=name, read_offset=offset)
        call = self._read(request, timeout=self.timeout_s + patience_s, metadata=self.metadata)
        with _watched(self.timeout_s) as watch:
            watch.over(call)
            try:
                for answer in call:
                    watch.moved()
                    yield answer.data
            finally:
                call.cancel()  # whoever had enough of it does not want the rest

    def write(self, requests: Iterator[Any], patience_s: float) -> int:
        """Send all; how much of the resource the server has then."""
        with _watched(self.timeout_s) as watch:

            def moving() -> Iterator[Any]:
                try:
                    for request in requests:
                        watch.moved()
                        yield request
                except Trouble:  # the build was stopped
                    watch.cancel()

            call = self._write.future(
                moving(), timeout=self.timeout_s + patience_s, metadata=self.metadata
            )
            watch.over(call)
            return int(call.result().committed_size)

    def close(self) -> None:
        self._channel.close()


class Watch:
    """Cancels a call in which nothing moves: a stream's own deadline is for all of it."""

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.done = threading.Event()
        self._call: Any = None

    def over(self, call: Any) -> None:
        self._call = call
        self.moved()

    def moved(self) -> None:
        self.last = time.monotonic()

    def cancel(self) -> None:
        if self._call is not None:
            self._call.cancel()

    def look(self, patience_s: float) -> None:
        while not self.done.wait(patience_s / 4):
            if time.monotonic() - self.last > patience_s:
                self.cancel()
                return


@contextmanager
def _watched(patience_s: float) -> Iterator[Watch]:
    watch = Watch()
    threading.Thread(target=watch.look, args=(patience_s,), daemon=True).start()
    try:
        yield watch
    finally:
        watch.done.set()


def _channel(url: str) -> Any:
    parts = urlsplit(url)
    host = (
        parts.netloc if parts.port else f"{parts.netloc}:{443 if parts.scheme == 'grpcs' else 80}"
    )
    options = [
        ("grpc.max_receive_message_length", LARGEST_MESSAGE),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
        ("grpc.service_config", json.dumps(RETRIES)),
        ("grpc.primary_user_agent", "qnnbuild"),
        ("grpc.max_reconnect_backoff_ms", 2000),
    ]
    if parts.scheme == "grpcs":
        return grpc.secure_channel(host, grpc.ssl_channel_credentials(), options)
    return grpc.insecure_channel(host, options)


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def is_code(error: grpc.RpcError, *codes: str) -> bool:
    return error.code().name in codes


@contextmanager
def in_words() -> Iterator[None]:
    """Errors of gRPC as Trouble; what a server says itself may hold anything, and is left out."""
    try:
        yield
    except grpc.FutureCancelledError:  # by the watch over an upload, which is no RpcError
        raise Trouble(WORDS[grpc.StatusCode.CANCELLED]) from None
    except grpc.RpcError as error:
        code = error.code()
        raise Trouble(WORDS.get(code, f"it fails: {code.name}")) from None
