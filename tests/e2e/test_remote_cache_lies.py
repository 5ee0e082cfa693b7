"""Over real sockets: whatever a server does, the build is right, and one warning tells of it."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from qnnbuild.actions.record import Tree
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.result_signing import Signing, trusted_keys
from qnnbuild.engine.store import Store
from qnnbuild.errors import Problem
from qnnbuild.model.remote_cache import RemoteCache
from qnnbuild.remote.opening import open_cache
from qnnbuild.remote.result import LARGEST
from qnnbuild.text.render import terminal
from tests.e2e.poison import put, record_in
from tests.e2e.remote_servers import Answer, Handler, PlainServer, flipped, plain_server
from tests.unit.engine.fake_world import CHAIN, FakeWorld, Remote, make_all, ran

SHIPPED = "bundle/m(context/m(convert/m(fetch/m(a))+b))"
TIMEOUT_S = 0.5  # where it is waited for
PATIENCE_S = 30.0  # where an answer comes, on a machine that has much else to do
SECRET = "geheim-Zm9v"


@pytest.fixture
def server() -> Iterator[PlainServer]:
    with plain_server() as server:
        yield server


@pytest.fixture
def shared(server: PlainServer, tmp_path: Path) -> PlainServer:
    """A server to which another machine has pushed the chain."""
    builder = opened(tmp_path / "there", remote(server.url, mode="read-write"))
    make_all(builder)
    builder.finish()
    close(builder)
    server.asked.clear()
    return server


def opened(root: Path, remote: Remote) -> Builder:
    root.mkdir(exist_ok=True)
    world = FakeWorld(root)
    world.write(a_txt="a", b_txt="b")
    return world.open(*CHAIN, remote=remote)


def close(builder: Builder) -> None:
    builder.remote.close()
    builder.records.close()


def remote(
    url: str,
    told: list[Problem] | None = None,
    *,
    mode: str = "read",
    token: str = "",
    timeout_s: float = PATIENCE_S,
    trusted: tuple[str, ...] = (),
    **more: str,
):
    settings = RemoteCache(url=url, mode=mode, timeout_s=timeout_s, trusted_keys=trusted)
    environment = {"NETRC": "/dev/null", "QNNBUILD_REMOTE_CACHE_TOKEN": token, **more}

    def opening(store: Store, records: Records) -> RemoteStore:
        return RemoteStore(
            store,
            records,
            settings=settings,
            opened=partial(open_cache, settings, environment),
            signing=Signing(trusted_keys(settings.trusted_keys, Path()), environment),
            tell=(told if told is not None else []).append,
        )

    return opening


def built(
    root: Path, url: str, mode: str = "read", timeout_s: float = PATIENCE_S
) -> tuple[list[str], list[Problem]]:
    """What a build ran, and what it told of the cache; what it made is right."""
    told: list[Problem] = []
    builder = opened(root, remote(url, told, mode=mode, timeout_s=timeout_s))
    make_all(builder)
    builder.finish()
    close(builder)

    assert (root / "build/m/SM8750/o.txt").read_text() == SHIPPED
    for path in (root / ".qnnbuild/artifacts").rglob("*"):
        assert path.is_dir() or path.name == digest_of(path)
    return ran(builder), told


def digest_of(path: Path) -> str:
    from qnnbuild.digest import digest_file

    return digest_file(path)


def truncated(said: Handler, contents: bytes) -> None:
    said.say(200, contents[:-1])


def too_long(said: Handler, contents: bytes) -> None:
    said.say(200, contents + b"more")


def without_end(said: Handler, contents: bytes) -> None:
    said.send_response(200)
    said.end_headers()
    try:
        while True:
            said.wfile.write(bytes(1 << 16))
    except OSError:
        said.close_connection = True


def a_gigabyte(said: Handler, contents: bytes) -> None:
    """Promised and sent, as far as somebody takes it."""
    said.say(200, contents, length=1 << 30)
    try:
        for _ in range(1 << 14):
            said.wfile.write(bytes(1 << 16))
    except OSError:
        said.close_connection = True


def a_terabyte(said: Handler, contents: bytes) -> None:
    """Promised, and the contents are all that comes."""
    said.say(200, contents, length=1 << 40)
    said.close_connection = True


def says_less(said: Handler, contents: bytes) -> None:
    """What follows on the same connection would be the beginning of the next answer."""
    said.say(200, contents, length=len(contents) - 1)


def broken(said: Handler, contents: bytes) -> None:
    said.say(500, b"no")


def hanging(said: Handler, contents: bytes) -> None:
    time.sleep(4 * TIMEOUT_S)
    said.close_connection = True


def hanging_later(said: Handler, contents: bytes) -> None:
    said.say(200, contents[:3], length=len(contents))
    hanging(said, contents)


def closes_early(said: Handler, contents: bytes) -> None:
    said.say(200, contents[:3], length=len(contents))
    said.close_connection = True


def closes_at_once(said: Handler, contents: bytes) -> None:
    said.close_connection = True


def drips(said: Handler, contents: bytes) -> None:
    said.say(200, b"", length=1000)
    try:
        for _ in range(40):
            said.wfile.write(b" ")
            time.sleep(TIMEOUT_S / 5)
    except OSError:
        pass
    said.close_connection = True


def a_page(said: Handler, contents: bytes) -> None:
    said.say(200, b"<!doctype html><title>Please log in</title>")


def in_circles(said: Handler, contents: bytes) -> None:
    said.send_response(302)
    said.send_header("Location", said.path)
    said.send_header("Content-Length", "0")
    said.end_headers()


def forbidden(said: Handler, contents: bytes) -> None:
    said.say(403, b"")


def no_http(said: Handler, contents: bytes) -> None:
    said.wfile.write(b"220 smtp.example.com ready\r\n")
    said.close_connection = True


LIES = (
    flipped, truncated, too_long, without_end, a_gigabyte, a_terabyte, says_less, broken, hanging,
    hanging_later, closes_early, closes_at_once, drips, a_page, in_circles, forbidden, no_http,
)  # fmt: skip


def patience(lie: Answer) -> float:
    return TIMEOUT_S if lie in (without_end, hanging, hanging_later, drips) else PATIENCE_S


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__)
@pytest.mark.parametrize("kind", ["GET ac", "GET cas"])
def test_a_server_that_lies_costs_a_warning_and_no_bytes(
    shared: PlainServer, tmp_path: Path, kind: str, lie: Answer
) -> None:
    shared.lies[kind] = lie
    made, told = built(tmp_path / "here", shared.url, timeout_s=patience(lie))

    assert made == [one.name for one in CHAIN]
    assert [problem.severity for problem in told] == ["warning"]
    assert told[0].message.startswith(
        ("the remote cache is wrong about ", "the remote cache is not used any more: it ")
    )


@pytest.mark.parametrize("lie", [broken, hanging, closes_at_once, forbidden, no_http])
@pytest.mark.parametrize("kind", ["PUT ac", "PUT cas", "HEAD cas"])
def test_uploads_that_fail_cost_a_warning(
    server: PlainServer, tmp_path: Path, kind: str, lie: Answer
) -> None:
    server.lies[kind] = lie
    if kind == "HEAD cas":  # a lie is told of what is there
        built(tmp_path / "there", server.url, "read-write")
        server.forget("ac")
    made, told = built(tmp_path / "here", server.url, "read-write", patience(lie))

    assert made == [one.name for one in CHAIN]
    assert len(told) == 1


def test_a_server_that_is_not_there_costs_a_warning(tmp_path: Path) -> None:
    made, told = built(tmp_path / "here", "http://127.0.0.1:9")

    assert made == [one.name for one in CHAIN]
    assert [problem.message for problem in told] == [
        "the remote cache is not used any more: it cannot be reached"
    ]


def test_the_result_of_another_key_is_refused(shared: PlainServer, tmp_path: Path) -> None:
    results = [path for path in shared.kept if path.startswith("/ac/")]
    last = shared.kept[results[-1]]
    shared.kept.update(dict.fromkeys(results, last))
    made, told = built(tmp_path / "here", shared.url)
    another = "the record of another action"

    assert made == [one.name for one in CHAIN]
    assert [problem.message for problem in told] == [
        f"the remote cache is wrong about the result of fetch/m: it sent {another}"
    ]


def test_contents_that_were_exchanged_are_refused(shared: PlainServer, tmp_path: Path) -> None:
    """Each is what some other digest promises."""
    paths = [path for path in shared.kept if path.startswith("/cas/")]
    contents = [shared.kept[path] for path in (*paths[1:], paths[0])]
    shared.kept.update(zip(paths, contents, strict=True))
    made, told = built(tmp_path / "here", shared.url)

    assert made == [one.name for one in CHAIN]
    assert [problem.message.partition(": ")[0] for problem in told] == [
        "the remote cache is wrong about what is needed"
    ]


@pytest.mark.parametrize("size", [LARGEST, LARGEST + 1])
def test_a_result_that_promises_a_terabyte_takes_no_room(
    shared: PlainServer, tmp_path: Path, size: int
) -> None:
    record = record_in(shared, "bundle")
    ((digest, _),) = record.outputs["o"].files.values()
    put(shared, replace(record, outputs={"o": Tree(files={"o.txt": (digest, size)})}))
    made, told = built(tmp_path / "here", shared.url)

    assert made == ["bundle/m"]
    assert len(told) == 1
    assert told[0].message.startswith("the remote cache is wrong about ")


def test_what_was_half_pushed_is_not_found(server: PlainServer, tmp_path: Path) -> None:
    server.lies["PUT ac"] = closes_at_once
    built(tmp_path / "there", server.url, "read-write")
    server.lies.clear()
    made, told = built(tmp_path / "here", server.url)

    assert made == [one.name for one in CHAIN]
    assert told == []


def test_results_whose_contents_are_gone_are_made_here(shared: PlainServer, tmp_path: Path) -> None:
    shared.forget("cas")
    made, told = built(tmp_path / "here", shared.url)

    assert made == [one.name for one in CHAIN]
    assert told == []


def test_a_token_is_sent_and_stands_nowhere(server: PlainServer, tmp_path: Path) -> None:
    server.wants = f"Bearer {SECRET}"
    told: list[Problem] = []
    for place in ("there", "here"):
        using = remote(server.url, told, mode="read-write", token=SECRET)
        builder = opened(tmp_path / place, using)
        make_all(builder)
        builder.finish()
        close(builder)

    assert ran(builder) == []
    assert told == []
    assert server.saw == {f"Bearer {SECRET}"}
    assert [
        p for p in tmp_path.rglob("*") if p.is_file() and SECRET.encode() in p.read_bytes()
    ] == []
    assert not any(SECRET.encode() in contents for contents in server.kept.values())


def test_a_token_that_is_not_taken_is_told_without_it(server: PlainServer, tmp_path: Path) -> None:
    server.wants = "Bearer another"
    told: list[Problem] = []
    builder = opened(tmp_path / "here", remote(server.url, told, token=SECRET))
    make_all(builder)
    close(builder)

    assert [problem.message for problem in told] == [
        "the remote cache is not used any more: it answers 401: it wants credentials, or others"
    ]
    assert SECRET not in terminal(told)


def test_netrc_tells_who_we_are(server: PlainServer, tmp_path: Path) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    netrc.chmod(0o600)
    server.wants = "Basic " + b64encode(f"me:{SECRET}".encode()).decode()
    told: list[Problem] = []
    builder = opened(tmp_path / "here", remote(server.url, told, NETRC=str(netrc)))
    make_all(builder)
    close(builder)

    assert told == []
    assert server.saw == {server.wants}


@pytest.mark.parametrize("header", ["", "x-api-key"])
def test_another_server_never_gets_the_token(
    shared: PlainServer, tmp_path: Path, header: str
) -> None:
    with plain_server() as other:
        elsewhere = other.url.replace("127.0.0.1", "localhost")

        def sent_on(said: Handler, _: bytes) -> None:
            said.send_response(302)
            said.send_header("Location", elsewhere + said.path)
            said.send_header("Content-Length", "0")
            said.end_headers()

        shared.lies["GET ac"] = sent_on
        using = remote(shared.url, token=SECRET, QNNBUILD_REMOTE_CACHE_HEADER=header)
        builder = opened(tmp_path / "here", using)
        make_all(builder)
        close(builder)

    assert other.saw == set()
    assert ran(builder) == [one.name for one in CHAIN]
