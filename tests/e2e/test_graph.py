"""`qnnbuild graph` in a repo that is built in part."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.e2e.small_repo import SmallRepo, tiny_repo


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """The prepared model is there, and nothing that stands on it."""
    repo = tiny_repo(tmp_path_factory.mktemp("graph") / "repo")
    done = repo.doit("prepare/tiny/wide")
    assert done.code == 0, done.err
    return repo


def test_a_page_lands_in_the_build_folder(repo: SmallRepo) -> None:
    done = repo.qnnbuild("graph")
    page = (repo.root / "build/graph.html").read_text(encoding="utf-8")

    assert (done.code, done.out) == (0, "")
    assert re.fullmatch(
        r"build/graph\.html: 17 actions: \d+ stale, \d+ waiting, \d+ current\n", done.err
    )
    assert "never built" in page


def test_a_picture_goes_to_stdout_or_where_its_name_says(repo: SmallRepo, tmp_path: Path) -> None:
    told = repo.qnnbuild("graph", "context/tiny/wide@SM8750", "--format", "mermaid")
    repo.qnnbuild("graph", "context/tiny/wide@SM8750", "-o", str(tmp_path / "plan.mmd"))
    nothing = repo.qnnbuild("graph", "-o", "plan.png")

    assert told.out == (tmp_path / "plan.mmd").read_text(encoding="utf-8")
    assert '["prepare/tiny/wide<br>current"]:::current' in told.out
    assert '["convert/tiny/wide+fp16<br>stale: never built"]:::stale' in told.out
    assert "bundle" not in told.out
    assert (nothing.code, "hint: --format html|svg|dot|mermaid, or a name" in nothing.err) == (
        2,
        True,
    )


def test_stale_is_what_would_run_and_what_it_stands_on(repo: SmallRepo) -> None:
    told = repo.qnnbuild("graph", "context/tiny/wide@SM8750", "--stale", "--format", "dot")

    assert sorted(re.findall(r'label="([\w/+@]+)\\n', told.out)) == [
        *("context/tiny/wide@SM8750", "convert/tiny/wide+fp16", "prepare/tiny/wide"),
    ]
