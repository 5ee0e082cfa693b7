"""Sources on a hub, spoken with by the real client; the hub is a server on the loopback."""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping
from pathlib import Path

from qnnbuild.digest import digest_bytes
from tests.e2e.local import REPO, Handler, Said, run_entry, send, served
from tests.models import scale_bytes, write_with_side_file

MODEL = scale_bytes()
SHA = digest_bytes(MODEL)
REVISION = "0123456789abcdef0123456789abcdef01234567"


class Hub:
    """The few answers of a hub that a download needs."""

    def __init__(self, files: Mapping[str, bytes], token: str | None = None) -> None:
        self.files = files
        self.token = token

    def __call__(self, handler: Handler) -> None:
        path = handler.path.partition("?")[0]
        start = f"/org/name/resolve/{REVISION}/"
        if self.token and handler.headers["Authorization"] != f"Bearer {self.token}":
            send(handler, b"", 401, X_Error_Code="RepoNotFound", X_Error_Message="no such model")
        elif path.startswith(f"/api/models/org/name/tree/{REVISION}"):
            tree = [
                {"type": "file", "path": name, "size": len(data), "oid": "0" * 40}
                for name, data in self.files.items()
            ]
            send(handler, json.dumps(tree).encode(), Content_Type="application/json")
        elif path.startswith(start) and path.removeprefix(start) in self.files:
            data = self.files[path.removeprefix(start)]
            etag = f'"{digest_bytes(data)}"'
            send(handler, data, ETag=etag, X_Repo_Commit=REVISION)
        elif path.startswith(start):
            send(handler, b"", 404, X_Error_Code="EntryNotFound")
        else:
            send(handler, b"", 404, X_Error_Code="RevisionNotFound")


def fetch_hub(folder: Path, endpoint: str, member: str = "onnx/m.onnx", env=None, **values) -> Said:
    return run_entry(
        folder,
        "qnnbuild.work.fetch:fetch_hub",
        {"hub": "org/name", "revision": REVISION, "member": member, "sha256": SHA, **values},
        outputs=("model", "license") if "license_member" in values else ("model",),
        env={"HF_ENDPOINT": endpoint, **(env or {})},
    )


def test_a_file_of_a_hub_comes_with_its_side_files_and_licence(tmp_path):
    data = write_with_side_file(tmp_path / "m")
    hub = Hub({"onnx/m.onnx": data, "onnx/m.data": bytes(256), "LICENSE": b"MIT\n"})
    with served(hub) as (address, _):
        said = fetch_hub(
            tmp_path / "run", address, sha256=digest_bytes(data), license_member="LICENSE"
        )

    assert said.message is None, said.log
    assert said.made() == ["license/LICENSE.txt", "model/m.data", "model/model.onnx"]


def test_a_token_opens_a_private_model_and_is_not_in_the_log(tmp_path):
    with served(Hub({"onnx/m.onnx": MODEL}, token="hf_secret")) as (address, _):
        without = fetch_hub(tmp_path / "one", address)
        with_token = fetch_hub(tmp_path / "two", address, env={"HF_TOKEN": "hf_secret"})

    assert without.message == "the hub has no model org/name, or it is private"
    assert without.hint == "log in with `hf auth login`, or put a token into HF_TOKEN"
    assert with_token.read("model/model.onnx") == MODEL
    assert "hf_secret" not in with_token.log


def test_a_member_that_the_hub_does_not_have_is_answered_with_the_nearest(tmp_path):
    with served(Hub({"onnx/model.onnx": MODEL})) as (address, _):
        said = fetch_hub(tmp_path / "run", address)

    assert said.message == "org/name at 0123456789ab has no member 'onnx/m.onnx'"
    assert said.hint == "did you mean 'onnx/model.onnx'?"


def test_a_revision_that_the_hub_does_not_have_is_told(tmp_path):
    with served(Hub({"onnx/m.onnx": MODEL})) as (address, _):
        said = fetch_hub(tmp_path / "run", address, revision="f" * 40)

    assert said.message == f"org/name has no revision {'f' * 40}"
    assert said.place == "source.revision"


NO_PAUSES = """\
import time

time.sleep = lambda seconds: print(f"pauses for {seconds} s")
"""


def test_a_hub_that_cannot_be_reached_is_told(tmp_path):
    """The client tries for 24 seconds; its pauses are told, and not waited for."""
    (tmp_path / "sitecustomize.py").write_text(NO_PAUSES)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{taken.getsockname()[1]}"
        said = fetch_hub(tmp_path / "run", endpoint, env={"PYTHONPATH": f"{tmp_path}:{REPO}"})

    assert "pauses for 1 s" in said.log
    assert said.message == "the hub cannot be reached"
    assert said.facts[0] == ("endpoint", endpoint)


def test_without_the_extra_the_command_that_installs_it_is_named(tmp_path):
    blocked = tmp_path / "blocked" / "huggingface_hub"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ImportError('not here')")
    paths = f"{blocked.parent}:{REPO}"

    said = fetch_hub(tmp_path / "run", "http://127.0.0.1:9", env={"PYTHONPATH": paths})

    assert said.message == "sources of the form `hub:` need the package huggingface_hub"
    assert said.hint == "pip install 'qnnbuild[hub]'"
