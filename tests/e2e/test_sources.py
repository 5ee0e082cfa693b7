"""Sources over a network: each test has its own server on the loopback."""

from __future__ import annotations

import base64
import io
import socket
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes
from tests.e2e.local import Handler, Said, cut, run_entry, send, served
from tests.models import scale_bytes, write_with_side_file

MODEL = scale_bytes()
SHA = digest_bytes(MODEL)
LARGE = scale_bytes(size=100_000)


def fetch_url(folder: Path, url: str, env: Mapping[str, str] | None = None, **params) -> Said:
    return run_entry(
        folder,
        "qnnbuild.work.fetch:fetch_url",
        {"url": url, "member": None, "sha256": SHA, **params},
        env=env,
    )


# --- url ------------------------------------------------------------------------------------


def test_a_file_behind_a_redirect_is_downloaded(tmp_path):
    def answer(handler: Handler) -> None:
        if handler.path == "/old":
            send(handler, b"", 302, Location="/new/m.onnx")
        else:
            send(handler, MODEL)

    with served(answer) as (address, _):
        said = fetch_url(tmp_path / "run", f"{address}/old")

    assert said.message is None
    assert said.read("model/model.onnx") == MODEL


def test_a_broken_download_goes_on_where_it_stopped(tmp_path):
    def answer(handler: Handler) -> None:
        if "Range" in handler.headers:
            start = int(handler.headers["Range"].removeprefix("bytes=").rstrip("-"))
            span = f"bytes {start}-{len(LARGE) - 1}/{len(LARGE)}"
            send(handler, LARGE[start:], 206, ETag='"one"', Content_Range=span)
        else:
            cut(handler, LARGE[: 1 << 17], len(LARGE), ETag='"one"')

    with served(answer) as (address, asked):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx", sha256=digest_bytes(LARGE))

    assert said.read("model/model.onnx") == LARGE
    assert [(h.headers["Range"], h.headers["If-Range"]) for h in asked] == [
        (None, None),
        ("bytes=131072-", '"one"'),
    ]


def test_a_file_that_changed_in_between_starts_again(tmp_path):
    def answer(handler: Handler) -> None:
        if "Range" in handler.headers:
            send(handler, LARGE, ETag='"two"')
        else:
            cut(handler, b"old" * 50_000, 200_000, ETag='"one"')

    with served(answer) as (address, _):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx", sha256=digest_bytes(LARGE))

    assert said.read("model/model.onnx") == LARGE


def test_a_server_that_is_busy_is_asked_again(tmp_path):
    def answer(handler: Handler) -> None:
        if len(asked) < 3:
            send(handler, b"later", 503, Retry_After="0")
        else:
            send(handler, MODEL)

    with served(answer) as (address, asked):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx")

    assert said.message is None
    assert len(asked) == 3


def test_a_missing_file_is_told_at_once_and_without_the_token(tmp_path):
    with served(lambda handler: send(handler, b"", 404)) as (address, asked):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx?token=secret")

    assert said.message == "the server answered 404 Not Found"
    assert said.place == "source.url"
    assert said.facts == [("url", f"{address}/m.onnx?…")]
    assert said.hint == "the file was moved or removed, or the URL has a typo"
    assert len(asked) == 1


def test_a_page_in_place_of_a_model_is_called_that(tmp_path):
    page = b"<!DOCTYPE html><html><title>Log in</title></html>"
    with served(lambda handler: send(handler, page)) as (address, _):
        said = fetch_url(tmp_path / "one", f"{address}/m.onnx")
        archive = fetch_url(tmp_path / "two", f"{address}/m.zip", member="m.onnx")

    assert said.message == f"'{address}/m.onnx' is a web page, not an ONNX file"
    assert archive.message == "the server sent a web page in place of the archive"


def test_a_wrong_digest_shows_both(tmp_path):
    other = scale_bytes(3.0)
    with served(lambda handler: send(handler, other)) as (address, _):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx")

    assert said.message == f"{address}/m.onnx is not the file that the recipe pins"
    assert said.facts == [
        ("pinned", SHA),
        ("got", digest_bytes(other)),
        ("size", f"{len(other)} bytes"),
    ]
    assert said.made() == []


def test_a_login_comes_from_netrc_and_does_not_follow_to_another_host(tmp_path):
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password word\n")
    with (
        served(lambda handler: send(handler, MODEL)) as (other, asked_other),
        served(
            lambda handler: send(
                handler, b"", 302, Location=other.replace("127.0.0.1", "localhost")
            )
        ) as (address, asked),
    ):
        said = fetch_url(tmp_path / "run", f"{address}/m.onnx", env={"NETRC": str(netrc)})

    assert said.message is None
    assert asked[0].headers["Authorization"] == (
        "Basic " + base64.b64encode(b"me:word").decode("ascii")
    )
    assert asked_other[0].headers["Authorization"] is None


def test_a_proxy_of_the_machine_is_used(tmp_path):
    with served(lambda handler: send(handler, MODEL)) as (proxy, asked):
        said = fetch_url(
            tmp_path / "run", "http://models.example/m.onnx", env={"http_proxy": proxy}
        )

    assert said.message is None
    assert [handler.path for handler in asked] == ["http://models.example/m.onnx"]


def test_a_member_of_a_tar_gz_is_taken(tmp_path):
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("release/m.onnx")
        info.size = len(MODEL)
        archive.addfile(info, io.BytesIO(MODEL))

    with served(lambda handler: send(handler, packed.getvalue())) as (address, _):
        said = fetch_url(tmp_path / "run", f"{address}/m.tar.gz", member="release/m.onnx")

    assert said.read("model/model.onnx") == MODEL


@pytest.mark.slow(seconds=30)
def test_a_server_that_is_not_there_is_told_after_some_tries(tmp_path):
    with socket.socket() as taken:  # bound and not listening: refused at once
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        said = fetch_url(tmp_path / "run", f"http://127.0.0.1:{port}/m.onnx")

    assert said.message == "127.0.0.1 did not give the file in 4 tries"
    assert said.facts == [
        ("url", f"http://127.0.0.1:{port}/m.onnx"),
        ("try", "Connection refused"),
    ]


# --- pypi -----------------------------------------------------------------------------------


def make_wheel(folder: Path, files: Mapping[str, bytes], tags: str = "py3-none-any") -> None:
    folder.mkdir(exist_ok=True)
    info = "tiny_model-1.0.dist-info"
    about = {
        f"{info}/METADATA": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n"
        b"Requires-Python: <3\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tags}\n".encode(),
        f"{info}/RECORD": b"",
    }
    with zipfile.ZipFile(folder / f"tiny_model-1.0-{tags}.whl", "w") as wheel:
        for name, data in {**files, **about}.items():
            wheel.writestr(name, data)


def make_sdist(folder: Path, trap: Path) -> None:
    folder.mkdir(exist_ok=True)
    files = {
        "PKG-INFO": b"Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n",
        "setup.py": f"open({str(trap)!r}, 'w').close()\n".encode(),
        "pyproject.toml": b"[build-system]\nrequires = []\nbuild-backend = 'backend'\n"
        b"backend-path = ['.']\n",
        "backend.py": f"open({str(trap)!r}, 'w').close()\n".encode(),
        "tiny_model/m.onnx": MODEL,
    }
    with tarfile.open(folder / "tiny_model-1.0.tar.gz", "w:gz") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(f"tiny_model-1.0/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def fetch_pypi(folder: Path, links: Path, member: str = "tiny_model/m.onnx", **values) -> Said:
    return run_entry(
        folder,
        "qnnbuild.work.fetch:fetch_pypi",
        {"pypi": "tiny-model==1.0", "member": member, "sha256": SHA, **values},
        outputs=("model", "license") if "license_member" in values else ("model",),
        env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(links), "PIP_REQUIRE_VIRTUALENV": "1"},
    )


def test_a_member_of_a_wheel_comes_through_the_users_pip_settings(tmp_path):
    make_wheel(tmp_path / "links", {"tiny_model/m.onnx": MODEL, "tiny_model/LICENSE": b"MIT\n"})

    said = fetch_pypi(tmp_path / "run", tmp_path / "links", license_member="tiny_model/LICENSE")

    assert said.message is None, said.log
    assert said.read("model/model.onnx") == MODEL
    assert said.read("license/LICENSE.txt") == b"MIT\n"


def test_side_files_of_a_wheel_come_along(tmp_path):
    data = write_with_side_file(tmp_path / "m", side="w/m.data")
    files = {"tiny_model/m.onnx": data, "tiny_model/w/m.data": b"\0" * 256}
    make_wheel(tmp_path / "links", files)

    said = fetch_pypi(tmp_path / "run", tmp_path / "links", sha256=digest_bytes(data))

    assert said.made() == ["model/model.onnx", "model/w/m.data"]


def test_without_a_wheel_the_source_distribution_is_unpacked_and_none_of_its_code_runs(tmp_path):
    trap = tmp_path / "code-was-run"
    make_sdist(tmp_path / "links", trap)

    short = fetch_pypi(tmp_path / "one", tmp_path / "links")
    long = fetch_pypi(tmp_path / "two", tmp_path / "links", "tiny-model-1.0/tiny_model/m.onnx")

    assert short.read("model/model.onnx") == long.read("model/model.onnx") == MODEL
    assert not trap.exists()


def test_a_member_that_the_wheel_does_not_have_is_answered_with_the_nearest(tmp_path):
    make_wheel(tmp_path / "links", {"tiny_model/data/m.onnx": MODEL})

    said = fetch_pypi(tmp_path / "run", tmp_path / "links")

    assert said.message == "tiny_model-1.0-py3-none-any.whl has no member 'tiny_model/m.onnx'"
    assert said.hint == "did you mean 'tiny_model/data/m.onnx'?"


def test_a_release_that_is_not_there_is_told_in_pips_words(tmp_path):
    make_wheel(tmp_path / "links", {"tiny_model/m.onnx": MODEL})

    said = fetch_pypi(tmp_path / "run", tmp_path / "links", pypi="tiny-model==2.0")

    assert said.message == "pip cannot download tiny-model==2.0"
    assert said.place == "source.pypi"
    told = (
        "Could not find a version that satisfies the requirement tiny-model==2.0 "
        "(from versions: 1.0)"
    )
    assert ("pip", told) in said.facts


def test_an_index_is_asked_with_the_users_login(tmp_path):
    make_wheel(tmp_path / "links", {"tiny_model/m.onnx": MODEL})
    wheel = tmp_path / "links" / "tiny_model-1.0-py3-none-any.whl"

    def answer(handler: Handler) -> None:
        if handler.headers["Authorization"] is None:
            send(handler, b"", 401, WWW_Authenticate="Basic")
        elif handler.path.endswith(".whl"):
            send(handler, wheel.read_bytes())
        else:
            page = f'<!DOCTYPE html><a href="/{wheel.name}">{wheel.name}</a>'
            send(handler, page.encode(), Content_Type="text/html")

    with served(answer) as (address, _):
        said = run_entry(
            tmp_path / "run",
            "qnnbuild.work.fetch:fetch_pypi",
            {"pypi": "tiny-model==1.0", "member": "tiny_model/m.onnx", "sha256": SHA},
            env={"PIP_INDEX_URL": address.replace("//", "//me:password@") + "/simple"},
        )

    assert said.message is None, said.log
    assert "password" not in said.log
