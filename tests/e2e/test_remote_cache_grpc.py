"""The Remote Execution API's client over real sockets: batches, streams, what breaks."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import grpc
import pytest

from qnnbuild.digest import Digest, digest_bytes
from qnnbuild.remote import reapi_pb2 as api
from qnnbuild.remote.cache import GONE, Content, Landing, Trouble
from qnnbuild.remote.grpc_cache import GrpcCache
from qnnbuild.remote.grpc_calls import LARGEST_MESSAGE
from tests.e2e.grpc_server import GrpcServer, grpc_server

LARGE = random.Random(7).randbytes(6 << 20) + bytes(4 << 20)
FILES = {digest_bytes(data): data for data in (b"", b"small", b"another", LARGE)}


def client(
    server: GrpcServer, *, timeout_s: float = 5, headers: Mapping[str, str] | None = None
) -> GrpcCache:
    return GrpcCache(server.url, instance="main", timeout_s=timeout_s, headers=headers or {})


def contents(files: Mapping[Digest, bytes]) -> list[Content]:
    return [
        Content(digest=d, size=len(data), opened=lambda data=data: io.BytesIO(data))  # type: ignore[misc] # mypy takes no default there
        for d, data in files.items()
    ]


def fetched(cache: GrpcCache, folder: Path, files: Mapping[Digest, bytes]) -> dict[Digest, str]:
    """What could not be fetched; the rest is as it should be."""
    landings = [Landing(digest=d, size=len(data), path=folder / d) for d, data in files.items()]
    failed = cache.fetch(landings)

    assert {one.digest: one.path.read_bytes() for one in landings if one.digest not in failed} == {
        digest: data for digest, data in files.items() if digest not in failed
    }
    return failed


@pytest.mark.parametrize("packs", [False, True])
def test_what_is_sent_comes_back(tmp_path: Path, packs: bool) -> None:
    with grpc_server(packs=packs) as server:
        cache = client(server)
        missing = cache.missing({digest: len(data) for digest, data in FILES.items()})
        cache.upload(contents(FILES))
        failed = fetched(cache, tmp_path, FILES)
        cache.close()

    assert (missing, failed) == (set(FILES), {})
    assert server.kept == FILES
    assert server.asked == Counter(
        GetCapabilities=1, FindMissingBlobs=1, BatchUpdateBlobs=1, Write=1, BatchReadBlobs=1, Read=1
    )


def test_batches_are_no_larger_than_the_server_says(tmp_path: Path) -> None:
    files = {digest_bytes(bytes([n])): bytes([n]) for n in range(20)}
    with grpc_server(room=1000) as server:
        cache = client(server)
        cache.upload(contents(files))
        fetched(cache, tmp_path, files)
        cache.close()

    assert server.asked["BatchUpdateBlobs"] == server.asked["BatchReadBlobs"] == 5


@pytest.mark.parametrize("packs", [False, True])
def test_a_stream_goes_on_where_it_broke_off(tmp_path: Path, packs: bool) -> None:
    files = {digest_bytes(LARGE): LARGE}
    with grpc_server(packs=packs, breaks_after=[1 << 20, 3 << 20]) as server:
        cache = client(server)
        cache.upload(contents(files))
        sent, server.offsets = server.offsets, []
        server.breaks_after = [1 << 20, 3 << 20]
        failed = fetched(cache, tmp_path, files)
        cache.close()

    assert failed == {}
    assert len(sent) == len(server.offsets) == 3
    assert sent == sorted(sent)
    assert sent[1] > 0
    assert server.offsets == sorted(server.offsets)
    assert server.offsets[2] > 0


def test_a_stream_that_never_moves_is_given_up(tmp_path: Path) -> None:
    with grpc_server(breaks_after=[0] * 20) as server:
        server.kept.update(FILES)
        with pytest.raises(Trouble, match="it fails: INTERNAL"):
            fetched(client(server), tmp_path, FILES)


def test_what_is_not_there_is_gone(tmp_path: Path) -> None:
    with grpc_server() as server:
        failed = fetched(client(server), tmp_path, FILES)

    assert failed == {digest: GONE for digest in FILES if FILES[digest]}


LIES: dict[str, Callable[[bytes], bytes]] = {
    "flipped": lambda data: bytes([data[0] ^ 1]) + data[1:],
    "truncated": lambda data: data[:-1],
    "too long": lambda data: data + b"!",
}


@pytest.mark.parametrize("packs", [False, True])
@pytest.mark.parametrize("lie", LIES)
def test_lies_are_told(tmp_path: Path, lie: str, packs: bool) -> None:
    with grpc_server(packs=packs, changes=LIES[lie]) as server:
        server.kept.update(FILES)
        failed = fetched(client(server), tmp_path, FILES)

    assert failed.keys() == {digest for digest in FILES if FILES[digest]}


@pytest.mark.parametrize("packs", [False, True])
def test_contents_that_were_exchanged_are_refused(tmp_path: Path, packs: bool) -> None:
    with grpc_server(packs=packs) as server:
        digests = [digest for digest in FILES if FILES[digest]]
        contents = [FILES[digest] for digest in (*digests[1:], digests[0])]
        server.kept.update(zip(digests, contents, strict=True))
        failed = fetched(client(server), tmp_path, FILES)

    assert failed.keys() == set(digests)
    assert GONE not in failed.values()


def test_a_result_that_is_longer_than_a_message_is_not_taken() -> None:
    with grpc_server() as server:
        file = api.OutputFile(path="record.json", contents=bytes(LARGEST_MESSAGE))
        server.results["ab" * 32] = api.ActionResult(output_files=[file])
        with pytest.raises(Trouble, match="it is full, or asked too much"):
            client(server).result("ab" * 32, 1)


def test_a_stream_that_becomes_endless_is_cut(tmp_path: Path) -> None:
    with grpc_server(packs=True, changes=lambda _: bytes(1 << 30)) as server:
        server.kept[digest_bytes(LARGE)] = LARGE
        failed = fetched(client(server), tmp_path, {digest_bytes(LARGE): LARGE})

    assert failed[digest_bytes(LARGE)].startswith("more than the 10,485,760 bytes of ")


HANGING = (
    "GetCapabilities",
    "GetActionResult",
    "Read",
    "BatchReadBlobs",
    "FindMissingBlobs",
    "Write",
)


@pytest.mark.parametrize("name", HANGING)
def test_a_server_that_hangs_is_not_waited_for(tmp_path: Path, name: str) -> None:
    with grpc_server(hangs={name}) as server:
        server.kept.update(FILES)
        cache = client(server, timeout_s=0.5)
        with pytest.raises(Trouble, match="it does not answer in time"):
            everything(cache, tmp_path)
        cache.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (grpc.StatusCode.UNAUTHENTICATED, "it wants credentials, or others"),
        (grpc.StatusCode.UNAVAILABLE, "it cannot be reached"),
        (grpc.StatusCode.DATA_LOSS, "it fails: DATA_LOSS"),
    ],
)
def test_errors_are_told_in_our_words(tmp_path: Path, code: Any, told: str) -> None:
    refuses = {"GetActionResult": code}
    with grpc_server(refuses=refuses) as server, pytest.raises(Trouble) as caught:
        everything(client(server), tmp_path)

    assert str(caught.value) == told


def everything(cache: GrpcCache, folder: Path) -> None:
    cache.result("1" * 64, 5)
    cache.missing({"1" * 64: 5})
    cache.upload(contents({digest_bytes(LARGE): LARGE}))
    fetched(cache, folder, FILES)


def test_a_server_that_is_busy_is_asked_again(tmp_path: Path) -> None:
    refuses = {"GetActionResult": grpc.StatusCode.UNAVAILABLE}
    with grpc_server(refuses=refuses) as server, pytest.raises(Trouble):
        client(server).result("1" * 64, 5)

    assert server.asked["GetActionResult"] == 4


def test_a_port_where_nobody_listens_is_told() -> None:
    with pytest.raises(Trouble, match="it cannot be reached"):
        client(GrpcServer(url="grpc://127.0.0.1:9")).result("1" * 64, 5)


def test_the_token_goes_along() -> None:
    with grpc_server() as server:
        cache = client(server, headers={"authorization": "Bearer abc"})
        result = cache.result("1" * 64, 5)

    assert result is None
    assert server.saw == {"Bearer abc"}


def test_an_upload_ends_when_the_build_is_stopped() -> None:
    class Stopped(io.BytesIO):
        def read(self, size: int | None = -1) -> bytes:
            if self.tell() > 1 << 20:
                raise Trouble("the build was stopped")
            return super().read(size)

    digest = digest_bytes(LARGE)
    with grpc_server() as server, pytest.raises(Trouble):
        client(server).upload(
            [Content(digest=digest, size=len(LARGE), opened=lambda: Stopped(LARGE))]
        )

    assert digest not in server.kept


ASKS = """
from qnnbuild.model.remote_cache import RemoteCache
from qnnbuild.remote.opening import open_cache
open_cache(RemoteCache(url="{url}"), {{}}).result("1" * 64, 5)
"""


def test_the_library_adds_nothing_to_our_words() -> None:
    """Here it would tell of each handshake: the server speaks no TLS."""
    with grpc_server() as server:
        url = server.url.replace("grpc://", "grpcs://")
        asked = subprocess.run(
            [sys.executable, "-c", ASKS.format(url=url)],
            env={"PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=False,
        )

    assert asked.stderr.splitlines()[-1].endswith("Trouble: it cannot be reached")
    assert asked.stderr.startswith("Traceback")
