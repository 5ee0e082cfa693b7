"""What `qnnbuild matrix` says. That its shares make each action once: test_workflows.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.remote_servers import PlainServer, plain_server
from tests.e2e.small_repo import SmallRepo, tiny_repo

pytestmark = pytest.mark.slow

URL, MODE = "QNNBUILD_REMOTE_CACHE", "QNNBUILD_REMOTE_CACHE_MODE"


def a_machine(repo: SmallRepo, root: Path, server: PlainServer) -> SmallRepo:
    return repo.copy(root, **{URL: server.url, MODE: "read-write"})


def test_only_the_stale_chip_gets_a_job_and_a_cache_is_asked(tmp_path):
    repo = tiny_repo(tmp_path / "repo")
    with plain_server() as server:
        a_machine(repo, tmp_path / "night", server).doit()
        today = a_machine(repo, tmp_path / "today", server)
        recipe = today.root / "recipes" / "tiny.yaml"
        text = recipe.read_text()
        assert "[SM8550, SM8750]" in text
        recipe.write_text(text.replace("[SM8550, SM8750]", "[SM8550, SM8650, SM8750]"))
        server.asked.clear()
        matrices = json.loads(today.qnnbuild("matrix", "--stale", "--json").out)
        downloads = server.counts()["GET cas"]

    shares = [one["share"] for part in matrices["chips"] for one in part["include"]]
    assert shares == ["chip/SM8650"]
    assert matrices["first"] == matrices["last"] == []
    assert not list((today.root / ".qnnbuild/artifacts").rglob("*ctx*"))
    assert downloads <= 16  # records, no artifacts


def test_parts_have_at_most_so_many(tmp_path):
    repo = tiny_repo(tmp_path / "repo")
    out = repo.qnnbuild("matrix", "--github", "--part-size", "1").out
    lines = dict(line.split("=", 1) for line in out.splitlines())
    parts = {name: json.loads(text) for name, text in lines.items()}

    assert parts.keys() == {"first", "chips", "last"}
    assert all(len(part["include"]) == 1 for kind in parts.values() for part in kind)
    shares = {one["share"] for part in parts["chips"] for one in part["include"]}
    assert shares == {"chip/SM8550", "chip/SM8750"}


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("--names", "chip/SM8755"), 3, "no share is called 'chip/SM8755'"),
        (("--part-size", "0"), 2, "--part-size is at least 1"),
        (("nothing",), 3, "nothing is named 'nothing'"),
    ],
)
def test_a_mistake_is_told(tmp_path, words, code, told):
    done = tiny_repo(tmp_path / "repo").qnnbuild("matrix", *words)

    assert done.code == code
    assert told in done.err
