"""Results that a remote cache never got from a build: well-formed, and with other contents."""

from __future__ import annotations

from qnnbuild.actions.record import Record
from qnnbuild.remote import reapi_pb2
from qnnbuild.remote.result import RECORD, asked, result_of
from tests.e2e.remote_servers import PlainServer


def record_in(server: PlainServer, step: str) -> Record:
    """What the cache says of the one action of this step."""
    (found,) = (record for record in records_in(server) if record.step == step)
    return found


def records_in(server: PlainServer) -> list[Record]:
    found = []
    for path, contents in server.kept.items():
        if path.startswith("/ac/"):
            files = reapi_pb2.ActionResult.FromString(contents).output_files
            (text,) = (file.contents for file in files if file.path == RECORD)
            found.append(Record.from_json(text.decode()))
    return found


def put(server: PlainServer, record: Record, signature: bytes | None = None) -> None:
    """As whoever may write results can: under the right key, whole, every digest as it should."""
    digest = asked(record.key, record.step, tuple(record.outputs)).digest
    assert f"/ac/{digest}" in server.kept
    server.kept[f"/ac/{digest}"], _ = result_of(record, None, signature)
