"""--json-events: what tools are told of a build, through real doit."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.e2e.doit_repo import DOIT, N, Repo, make_repo
from tests.events import Event, events_in, events_of, short

PATIENCE_S = 120

M = {
    "fetch/m": {"reads": "m.txt"},
    "context/m@A": {"needs": ["fetch/m"], "does": "fail 4"},
    "context/m@B": {"needs": ["fetch/m"]},
    "bundle/m@A": {"needs": ["context/m@A"]},
}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


def of(events: list[Event], name: str) -> list[str]:
    return short(event for event in events if event.get("action") == name)


def test_a_build_with_a_failure_is_told_from_its_begin_to_its_end(repo: Repo) -> None:
    repo.recipe("m", M)
    repo.recipe("n", N)
    repo.doit("n")
    (repo.root / "the.log").write_text("compiling\n\x1b[31mno such operator\x1b[0m\n")
    done = repo.doit("-n", "2", "--continue", "--json-events", "events")
    events = events_in(repo.root / "events")
    failed = next(event for event in events if event.get("how") == "failed" and "again" in event)

    assert short(events)[:2] == ["build-began", "plan"]
    assert of(events, "fetch/m") == [
        "action-planned fetch/m", "action-started fetch/m", "action-runs fetch/m",
        "action-ended fetch/m made",
    ]  # fmt: skip
    assert of(events, "fetch/n") == ["action-ended fetch/n reused"]
    assert of(events, "bundle/m@A")[1:] == ["action-ended bundle/m@A not built"]
    assert failed["last_lines"] == ["compiling", "no such operator"]
    assert (failed["again"], failed["exit_code"]) == ("doit context/m@A", 4)
    assert (short(events)[-1], events[-1]["exit_code"]) == ("build-ended failed", done.returncode)
    assert events[-1]["counts"] == {"made": 2, "reused": 2, "failed": 1, "not built": 1}


def test_stdout_has_nothing_but_events_where_it_is_asked_for_them(repo: Repo) -> None:
    done = repo.doit("--json-events", "-", "n")

    assert short(events_of(done.stdout.splitlines()))[-1] == "build-ended done"
    assert done.stderr.splitlines()[-1].startswith("made 2; took ")


def test_a_build_of_nothing_tells_that(repo: Repo) -> None:
    repo.doit("n")
    repo.doit("--json-events", "events", "n")
    events = events_in(repo.root / "events")

    assert short(events) == [
        "build-began", "plan", "action-ended fetch/n reused", "action-ended context/n@A reused",
        "build-ended done",
    ]  # fmt: skip
    assert (events[1]["to_run"], events[-1]["counts"]) == (0, {"reused": 2})


def test_a_build_that_is_refused_tells_why(repo: Repo) -> None:
    repo.recipe("bad", [1])
    repo.doit("--json-events", "events")
    events = events_in(repo.root / "events")

    assert short(events) == ["build-began", "build-ended failed"]
    assert events[-1]["problems"][0]["message"] == "a list is no recipe"
    assert events[-1]["exit_code"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--json-events", "no/events"), "events cannot be written to no/events: No such file"),
        (("--json-events", "-", "-r", "json"), "goes with our own reporter, and 'json' is asked"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(
    repo: Repo, words: tuple[str, ...], told: str
) -> None:
    done = repo.doit(*words)

    assert (done.returncode, done.stdout, repo.ran()) == (2, "", [])
    assert told in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_of_a_build_that_had_to_end_each_line_is_whole(repo: Repo, number: signal.Signals) -> None:
    repo.recipe("s", {"fetch/s": {}, "context/s": {"needs": ["fetch/s"], "does": "sleep 300"}})
    (repo.root / "the.log").write_text("half way\n")
    process = subprocess.Popen(
        [DOIT, "-n", "2", "--json-events", "events", "s"], cwd=repo.root, env=repo.env,
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    end = time.monotonic() + PATIENCE_S
    while not (repo.root / "asleep-s").exists() and time.monotonic() < end:
        time.sleep(0.02)
    os.kill(process.pid, number)
    out, _ = process.communicate(timeout=PATIENCE_S)
    events = events_in(repo.root / "events")

    if number == signal.SIGKILL:
        assert short(events)[-1] == "action-runs context/s"
        return
    assert short(events)[-2:] == ["action-ended context/s stopped", "build-ended stopped"]
    assert events[-2]["last_lines"] == ["half way"]
    assert "  last lines: half way\n  log:        " in out
