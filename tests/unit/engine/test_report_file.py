"""How actions failed is remembered, and the report is written when it has something new to say."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.report_file import refresh
from qnnbuild.engine.standings import Standings
from qnnbuild.errors import Span, ToolError
from qnnbuild.report.page import data_of
from qnnbuild.report.report import Subject
from qnnbuild.report.standing import Failure
from tests.unit.engine.fake_world import (
    BUNDLE,
    CHAIN,
    CONTEXT,
    CONVERT,
    FETCH,
    action,
    make_all,
    runner_of,
)

AT = Span(file="recipes/m.yaml", line=3, column=5, text="graphs:", end=7)


def subject(builder: Builder, *unseen: str) -> Subject:
    return Subject(plan=builder.plan, targets=(), toolchains={}, unseen=frozenset(unseen))


def failure_of(builder: Builder, name: str) -> Failure:
    failure = Standings(builder).standing(name).failure
    assert failure is not None
    return failure


def fail(builder: Builder, name: str, error: Exception | None = None) -> None:
    """Make what `name` needs, and let it fail."""

    def refuse() -> None:
        raise error or ToolError(
            "the tool stopped",
            at=AT,
            facts=[("says", "one"), ("says", "two"), ("last lines", "a\nb"), ("log", "/x/y.log")],
            hint="look",
        )

    runner_of(builder).does[name] = refuse
    with pytest.raises(type(error or ToolError(""))):
        make_all(builder)


def test_a_failure_is_known_to_whoever_comes_later(world):
    fail(world.open(*CHAIN), "context/m")
    builder = world.open(*CHAIN)
    standing = Standings(builder).standing("context/m")
    failure = failure_of(builder, "context/m")

    assert standing.kind == "failed"
    assert (failure.message, failure.at) == ("the tool stopped", "recipes/m.yaml:3:5")
    assert failure.facts == (("says", "one"), ("says", "two"))
    assert (failure.last_lines, failure.hint) == (("a", "b"), "look")
    assert standing.key is not None
    assert standing.log == f"logs/{standing.key[:2]}/{standing.key}.log"


def test_what_waits_for_a_failure_waits(world):
    fail(world.open(*CHAIN), "context/m")

    assert Standings(world.open(*CHAIN)).standing("bundle/m").kind == "waits"


def test_a_failure_is_forgotten_once_it_works(world):
    fail(world.open(*CHAIN), "context/m")
    make_all(world.open(*CHAIN))
    builder = world.open(*CHAIN)

    assert Standings(builder).standing("context/m").kind == "current"
    assert not list((world.root / ".qnnbuild/logs").rglob("*.failure.json"))


def test_a_failure_of_another_key_is_not_told(world):
    fail(world.open(*CHAIN), "context/m")
    world.write(b_txt="other")

    assert Standings(world.open(*CHAIN)).standing("context/m").kind == "stale"


def test_a_build_that_was_stopped_has_not_failed(world):
    fail(world.open(*CHAIN), "context/m", Cancelled("stopped"))

    assert Standings(world.open(*CHAIN)).standing("context/m").kind == "stale"


def test_a_source_that_is_missing_is_a_failure_without_a_key(world):
    builder = world.open(action("fetch/n", "none.txt"))
    standing = Standings(builder).standing("fetch/n")

    assert (standing.kind, standing.key, standing.log) == ("failed", None, None)
    assert "none.txt" in failure_of(builder, "fetch/n").message


def test_where_the_error_has_no_last_lines_the_logs_are_taken(world):
    builder = world.open(*CHAIN)
    fail(builder, "context/m", ToolError("it stopped"))
    key = Standings(builder).standing("context/m").key
    assert key is not None
    log = builder.store.log(key)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text("loading\n\x1b[31merror: no\x1b[0m\n")

    assert failure_of(world.open(*CHAIN), "context/m").last_lines == ("loading", "error: no")


def written(path: Path) -> tuple[int, int]:
    """Which file it is and when it was written; when it was read is not of interest."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns


def test_the_report_is_written_when_something_changed_and_not_again(world):
    builder = world.open(*CHAIN)
    make_all(builder)
    first = refresh(subject(builder), builder)
    path = world.root / "build/report.html"
    before = written(path)
    again = world.open(*CHAIN)

    assert first
    assert not refresh(subject(again), again)
    assert written(path) == before


def test_a_build_of_nothing_loads_no_templates(world, monkeypatch):
    builder = world.open(*CHAIN)
    make_all(builder)
    refresh(subject(builder), builder)
    for name in [n for n in sys.modules if n.partition(".")[0] == "jinja2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "qnnbuild.report.page")
    again = world.open(*CHAIN)
    refresh(subject(again), again)

    assert not [name for name in sys.modules if name.partition(".")[0] == "jinja2"]


def test_a_failed_build_leaves_a_report(world):
    builder = world.open(*CHAIN)
    fail(builder, "fetch/m")

    assert refresh(subject(builder), builder)
    assert (world.root / "build/report.html").exists()


def test_a_repo_without_anything_gets_no_report(world):
    builder = world.open()

    assert not refresh(subject(builder), builder)
    assert not (world.root / "build").exists()


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"<html>somebody's</html>"])
def test_a_page_that_is_not_ours_is_written_over(text, world):
    path = world.root / "build/report.html"
    path.parent.mkdir()
    path.write_bytes(text)
    builder = world.open(FETCH, CONVERT, CONTEXT, BUNDLE, unseen=["other"])

    assert refresh(subject(builder, "other"), builder)
    assert (data_of(path.read_text()) or {})["models"] == []
