"""Machine A builds and pushes, machine B takes: real compiles, real doit, real servers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.e2e.remote_servers import S3, PlainServer, buildgrid, flipped, nginx, plain_server, s3
from tests.e2e.small_repo import QUIET, SmallRepo, tiny_repo
from tests.models import scale_model
from tests.signing import pem_keys

pytestmark = pytest.mark.slow(seconds=140)

URL, MODE = "QNNBUILD_REMOTE_CACHE", "QNNBUILD_REMOTE_CACHE_MODE"
TOKEN = "QNNBUILD_REMOTE_CACHE_TOKEN"
SIGNING_KEY = "QNNBUILD_REMOTE_CACHE_SIGNING_KEY"
TRUSTED_KEYS = "QNNBUILD_REMOTE_CACHE_TRUSTED_KEYS"
SECRET = "geheim-Zm9v"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SmallRepo, PlainServer]]:
    """Machine A and the server to which it has pushed all that it made."""
    with plain_server() as server:
        server.wants = f"Bearer {SECRET}"
        repo = tiny_repo(tmp_path_factory.mktemp("a") / "repo")
        repo.env |= {URL: server.url, MODE: "read-write", TOKEN: SECRET}
        done = repo.doit()
        assert (done.code, done.err, done.summary) == (0, "", "made 17")
        yield repo, server


def other(built: tuple[SmallRepo, PlainServer], root: Path) -> tuple[SmallRepo, PlainServer]:
    """A fresh clone in another folder, which may only read."""
    repo, server = built
    server.asked.clear()
    server.lies.clear()
    return repo.copy(root / "elsewhere" / "b", **{MODE: "read"}), server


def test_another_machine_compiles_nothing_and_has_the_same_bytes(built, tmp_path):
    repo, server = other(built, tmp_path)
    done = repo.doit()

    assert (done.code, done.err) == (0, "")
    assert done.summary == "fetched 17"
    assert done.ran == []
    assert repo.files() == built[0].files()
    assert server.counts().keys() == {"GET ac", "GET cas"}
    assert server.counts()["GET ac"] == 17


def test_only_what_lands_and_what_the_report_tells_is_downloaded(built, tmp_path):
    repo, server = other(built, tmp_path)
    repo.doit()
    stored = [p for p in (repo.root / ".qnnbuild/artifacts").rglob("*") if p.is_file()]
    landed = set(repo.files().values())
    more = [path.read_bytes() for path in stored if path.read_bytes() not in landed]

    assert server.counts()["GET cas"] == len(stored)  # nothing twice
    assert all(isinstance(json.loads(text), dict) for text in more)


def test_what_was_built_before_is_shared_later(tmp_path):
    """By a machine that had no cache when it built: a second time there is nothing to send."""
    secret, public = pem_keys(tmp_path, "ours")
    with plain_server() as server:
        repo = tiny_repo(tmp_path / "a")
        repo.doit()
        without = repo.qnnbuild("store", "push")
        repo.env |= {URL: server.url}
        reading = repo.qnnbuild("store", "push")
        repo.env |= {MODE: "read-write", SIGNING_KEY: secret}
        pushed = [repo.qnnbuild("store", "push", "--json") for _ in range(2)]
        there = repo.copy(tmp_path / "b", **{MODE: "read", TRUSTED_KEYS: str(public)})
        done = there.doit()

    assert (without.code, reading.code) == (2, 2)
    assert "hint: remote_cache: {url: …, mode: read-write} in qnnbuild.yaml" in without.err
    assert f"the remote cache {server.url} is only read" in reading.err
    first, second = (json.loads(one.out) for one in pushed)
    assert (first["records"], first["not_built"], first["left"]) == (17, 0, 0)
    assert first["files"] > 17
    assert second == {**first, "files": 0, "total_bytes": 0}
    assert (done.summary, done.ran) == ("fetched 17", [])
    assert there.files() == repo.files()


def test_a_push_that_breaks_off_says_so(tmp_path):
    repo = tiny_repo(tmp_path / "a")
    repo.doit()
    repo.env |= {URL: "http://127.0.0.1:9", MODE: "read-write"}
    pushed = repo.qnnbuild("store", "push")

    assert pushed.code == 6, pushed.err
    assert "the remote cache is not used any more: it cannot be reached" in pushed.err
    assert "hint: what it has by now is not sent again the next time" in pushed.err
    assert pushed.err.endswith("shared 0 of 17 records; 0 files (0 B) were not there yet\n")


def test_a_build_of_nothing_asks_nobody(built, tmp_path):
    repo, server = other(built, tmp_path)
    repo.doit()
    server.asked.clear()
    seconds = [repo.doit(), repo.doit()]

    assert [done.summary for done in seconds] == ["nothing to do: reused 17"] * 2
    assert server.asked == []


def test_three_builds_of_one_store_ask_for_each_result_once(built, tmp_path):
    repo, server = other(built, tmp_path)
    repos = [repo, *(repo.copy(tmp_path / name / "b") for name in ("second", "third"))]
    store = {"QNNBUILD_STORE": str(tmp_path / "store")}
    with ThreadPoolExecutor() as pool:
        builds = [pool.submit(one.doit, "-n", "4", env=store) for one in repos]
    done = [build.result() for build in builds]

    assert [(one.code, one.err, one.ran) for one in done] == [(0, "", [])] * 3
    assert server.counts()["GET ac"] == 17
    assert all(one.files() == built[0].files() for one in repos)


def test_looking_asks_nobody(built, tmp_path):
    repo, server = other(built, tmp_path)
    plan = repo.qnnbuild("plan")

    assert plan.code == 0
    assert server.asked == []


def test_a_new_chip_compiles_with_what_is_fetched_for_it(built, tmp_path):
    repo, _ = other(built, tmp_path)
    recipe = repo.root / "recipes" / "quiet.yaml"
    recipe.write_text(recipe.read_text().replace("[SM8750]", "[SM8750, SM8550]"))
    done = repo.doit("quiet")

    assert done.code == 0
    assert done.ran == ["context/quiet/quiet/small@SM8550", "bundle/quiet/small@SM8550"]
    assert done.summary == "made 2, fetched 5"


def test_what_the_server_forgot_is_made_here(built, tmp_path):
    repo, server = other(built, tmp_path)
    before = dict(server.kept)
    server.forget("cas")
    done = repo.doit("quiet")
    server.kept.update(before)
    made = {path: data for path, data in repo.files().items() if path != "index.json"}

    # what the bundle needs is made on the way to it
    assert (done.code, done.err, done.summary) == (0, "", "fetched 4, cut off 1")
    assert made.items() <= built[0].files().items()
    assert len(made) > 1


def test_a_flipped_bit_costs_one_warning_and_no_byte(built, tmp_path):
    repo, server = other(built, tmp_path)
    server.lies["GET cas"] = flipped
    done = repo.doit()

    assert done.code == 0
    assert done.err.count("warning:") == 1
    assert repo.files() == built[0].files()


def test_nothing_secret_is_written_anywhere(built):
    repo, server = built
    files = [path for path in repo.root.rglob("*") if path.is_file()]

    assert server.saw == {f"Bearer {SECRET}"}
    assert [path for path in files if SECRET.encode() in path.read_bytes()] == []
    assert [path for path, data in server.kept.items() if SECRET.encode() in data] == []


def test_a_wrong_token_is_told_without_it(built, tmp_path):
    repo, _ = other(built, tmp_path)
    done = repo.doit("fetch/quiet", env={TOKEN: "wrong-" + SECRET})

    assert done.ran == ["fetch/quiet"]
    assert "it answers 401: it wants credentials, or others" in done.err
    assert SECRET not in done.err + done.out


# --- real servers ----------------------------------------------------------------------------


@contextmanager
def on_nginx(folder: Path) -> Iterator[dict[str, str]]:
    with nginx(folder) as url:
        yield {URL: url}


@contextmanager
def on_buildgrid(folder: Path) -> Iterator[dict[str, str]]:
    with buildgrid(folder) as url:
        yield {URL: url, "INSTANCE": "main"}


@contextmanager
def on_s3(folder: Path) -> Iterator[dict[str, str]]:
    with s3(folder) as url:
        yield {URL: "s3://bucket/a/folder", "AWS_ENDPOINT_URL": url, **S3}


@contextmanager
def on_a_folder(folder: Path) -> Iterator[dict[str, str]]:
    yield {URL: f"file://{folder}/shared"}


SERVERS = {"nginx": on_nginx, "buildgrid": on_buildgrid, "s3": on_s3, "folder": on_a_folder}


@pytest.mark.parametrize("kind", SERVERS)
def test_a_real_server_serves_what_is_signed(kind, tmp_path):
    with SERVERS[kind](tmp_path / "server") as env:
        a = SmallRepo.make(tmp_path / "a" / "repo", **env)
        secret, _ = pem_keys(a.root, "ours")
        declared = {
            "url": env[URL],
            "instance": env.get("INSTANCE", "main"),
            "trusted_keys": ["ours.pem"],
        }
        with (a.root / "qnnbuild.yaml").open("a") as file:
            file.write(f"remote_cache: {json.dumps(declared)}\n")
        a.model("small", scale_model(size=64))
        a.recipe("quiet", QUIET)
        pushed = a.doit(env={MODE: "read-write", SIGNING_KEY: secret})
        b = a.copy(tmp_path / "elsewhere" / "b")
        taken = b.doit()

    assert (pushed.err, pushed.summary) == ("", "made 5")
    assert (taken.err, taken.summary) == ("", "fetched 5")
    assert b.files() == a.files()
    secrets = (S3["AWS_SECRET_ACCESS_KEY"], secret.splitlines()[1])
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or not any(one.encode() in path.read_bytes() for one in secrets)
