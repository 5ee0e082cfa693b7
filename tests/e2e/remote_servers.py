"""Remote caches on the loopback: real servers, and one that counts and misbehaves as it is told."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import requests

from tests.e2e.small_repo import BIN

STARTS_IN_S = 60

Answer = Callable[["Handler", bytes], None]
"""Says something else than the right contents, which it is given."""


@dataclass
class PlainServer:
    """Bazel's plain form, in memory. `kept` is path → contents, `asked` every request."""

    url: str = ""
    kept: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    lies: dict[str, Answer] = field(default_factory=dict)  # "GET cas" → what is said instead
    wants: str | None = None  # an Authorization header
    saw: set[str] = field(default_factory=set)  # all Authorization headers that came

    def counts(self) -> Counter[str]:
        """How often each kind of request came: `GET cas`, `HEAD cas`, `PUT ac`."""
        return Counter(re.sub(r"/[0-9a-f]{64}$", "", line).replace("/", "") for line in self.asked)

    def forget(self, kind: str) -> None:
        for path in [path for path in self.kept if path.startswith(f"/{kind}/")]:
            del self.kept[path]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_of: PlainServer

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        contents = self.rfile.read(int(self.headers["Content-Length"]))
        if self._is_refused():
            return
        lie = self.server_of.lies.get(self._kind)
        if lie is not None:
            lie(self, contents)
            return
        self.server_of.kept[self.path] = contents
        self.say(200, b"")

    def _answer(self) -> None:
        if self._is_refused():
            return
        contents = self.server_of.kept.get(self.path)
        lie = self.server_of.lies.get(self._kind)
        if lie is not None and contents is not None:
            lie(self, contents)
        elif contents is None:
            self.say(404, b"")
        else:
            self.say(200, contents)

    @property
    def _kind(self) -> str:
        return f"{self.command} {self.path.split('/')[1]}"

    def _is_refused(self) -> bool:
        server = self.server_of
        server.asked.append(f"{self.command} {self.path}")
        said = self.headers.get("Authorization") or self.headers.get("X-Api-Key")
        server.saw |= {said} if said else set()
        if server.wants is None or said == server.wants:
            return False
        self.say(401, b"")
        return True

    def say(self, status: int, contents: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(contents) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(contents)

    def log_message(self, *args: object) -> None:
        """Nothing: requests are counted instead."""


def flipped(said: Handler, contents: bytes) -> None:
    """A lie: one bit is another."""
    said.say(200, bytes([contents[0] ^ 1]) + contents[1:])


@contextmanager
def plain_server() -> Iterator[PlainServer]:
    told = PlainServer()
    handler = type("Handler", (Handler,), {"server_of": told})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        told.url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield told
        server.shutdown()


NGINX = """\
{user}daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log;
events {{}}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  client_max_body_size 0;
  server {{
    listen 127.0.0.1:{port};
    location ~ ^/main/(ac|cas)/[0-9a-f]+$ {{
      root {folder}/kept; dav_methods PUT; create_full_put_path on;
      limit_except GET HEAD PUT {{ deny all; }}
    }}
  }}
}}
"""


@contextmanager
def nginx(folder: Path) -> Iterator[str]:
    program = shutil.which("nginx", path="/usr/sbin:/usr/local/sbin:/usr/bin:/opt/homebrew/bin")
    if program is None:
        pytest.skip("nginx is not installed here: apt-get install nginx-light")
    (folder / "kept").mkdir(parents=True)
    # started as root, its workers would be somebody who may not look into the folder
    user = "user root; " if os.geteuid() == 0 else ""
    port = free_port()
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, user=user))
    with started([program, "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"], port):
        yield f"http://127.0.0.1:{port}"


BUILDGRID = """\
server: [!channel {{address: "127.0.0.1:{port}", insecure-mode: true}}]
storages: [!disk-storage &cas {{path: {folder}/cas}}]
caches: [!lru-action-cache &ac {{storage: *cas, max-cached-refs: 10000, allow-updates: true}}]
instances:
  - name: main
    services: [!action-cache {{cache: *ac}}, !cas {{storage: *cas}}, !bytestream {{storage: *cas}}]
thread-pool-size: 16
"""


@contextmanager
def buildgrid(folder: Path) -> Iterator[str]:
    (folder / "cas").mkdir(parents=True)
    port = free_port()
    (folder / "server.yml").write_text(BUILDGRID.format(folder=folder, port=port))
    argv = [str(BIN / "bgd"), "server", "start", str(folder / "server.yml")]
    with started(argv, port):
        yield f"grpc://127.0.0.1:{port}"


S3 = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "geheim-Zm9v",
    "AWS_DEFAULT_REGION": "us-east-1",
}


@contextmanager
def s3(folder: Path) -> Iterator[str]:
    """moto's S3 server; its address is what AWS_ENDPOINT_URL says."""
    folder.mkdir(parents=True)
    port = free_port()
    argv = [str(BIN / "moto_server"), "-H", "127.0.0.1", "-p", str(port)]
    with started(argv, port):
        requests.put(f"http://127.0.0.1:{port}/bucket", timeout=30).raise_for_status()
        yield f"http://127.0.0.1:{port}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def started(argv: list[str], port: int, **more: object) -> Iterator[None]:
    """A server in a process of its own, from when it takes connections until the block ends."""
    server = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **more)  # type: ignore[call-overload] # `more` is cwd and env
    try:
        end = time.monotonic() + STARTS_IN_S
        while not _listens(port):
            if server.poll() is not None or time.monotonic() > end:
                server.kill()
                pytest.fail(f"{argv[0]} does not start: {server.communicate()[0].decode()}")
            time.sleep(0.1)
        yield
    finally:
        server.terminate()
        server.communicate(timeout=30)


def _listens(port: int) -> bool:
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0
