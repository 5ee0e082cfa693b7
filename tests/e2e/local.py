"""What tests of sources share: servers on the loopback, and a run as the engine does it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

REPO = Path(__file__).parents[2]

ENTRY = """
import json, sys
from pathlib import Path
from qnnbuild.work.run import Run, WorkError
call, params, inputs, outputs = json.loads(sys.argv[1])
for name in outputs:
    Path("out", name).mkdir(parents=True)
module, _, function = call.partition(":")
run = Run(
    params=params,
    inputs={name: Path("in", name) for name in inputs},
    outputs={name: Path("out", name) for name in outputs},
)
said = {"error": None}
try:
    getattr(__import__(module, fromlist=[function]), function)(run)
except WorkError as error:
    said["error"] = {key: getattr(error, key) for key in
                     ("message", "place", "facts", "hint", "exit_code")}
said["warnings"] = [notice.message for notice in run.warnings]
Path("said.json").write_text(json.dumps(said))
"""


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a run made and said."""

    folder: Path
    log: str
    warnings: list[str]
    message: str | None = None
    place: str | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    hint: str | None = None

    def made(self) -> list[str]:
        out = self.folder / "out"
        return sorted(p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file())

    def read(self, name: str) -> bytes:
        return (self.folder / "out" / name).read_bytes()


def run_entry(
    folder: Path,
    call: str,
    params: Mapping[str, Any],
    *,
    inputs: tuple[str, ...] = (),
    outputs: tuple[str, ...] = ("model",),
    env: Mapping[str, str] | None = None,
) -> Said:
    """Run an entry in its own process in `folder`, with `env` and nothing else of this machine."""
    folder.mkdir(parents=True, exist_ok=True)
    fixed = {"PATH": os.defpath, "HOME": str(folder), "PYTHONPATH": str(REPO)}
    ended = subprocess.run(
        [sys.executable, "-c", ENTRY, json.dumps([call, params, inputs, outputs])],
        cwd=folder,
        env={**fixed, **(env or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout
    said = json.loads((folder / "said.json").read_text())
    error = said["error"] or {}
    return Said(
        folder=folder,
        log=ended.stdout,
        warnings=said["warnings"],
        message=error.get("message"),
        place=error.get("place"),
        facts=[(name, value) for name, value in error.get("facts", [])],
        hint=error.get("hint"),
    )


Handler = BaseHTTPRequestHandler
Answer = Callable[[Handler], None]


@contextmanager
def served(answer: Answer) -> Iterator[tuple[str, list[Handler]]]:
    """A server whose every GET and HEAD goes to `answer`; gives its address and what was asked."""
    asked: list[Handler] = []

    class Local(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self)
            answer(self)

        do_HEAD = do_GET  # noqa: N815 - http.server chose the name

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Local)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler: Handler, data: bytes, code: int = 200, **headers: str) -> None:
    handler.send_response(code)
    for name, value in {"Content_Length": str(len(data)), **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    if handler.command != "HEAD":
        handler.wfile.write(data)


def cut(handler: Handler, data: bytes, whole: int, code: int = 200, **headers: str) -> None:
    """Promise `whole` bytes, send `data`, and hang up."""
    send(handler, data, code, Content_Length=str(whole), **headers)
    handler.close_connection = True
