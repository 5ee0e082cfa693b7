"""Ctrl-C, terminals and pipes."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.doit_repo import DOIT, Repo, make_repo, without_times


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


SLOW = {
    "fetch/s": {"reads": "m.txt"},
    **{f"context/s@{chip}": {"needs": ["fetch/s"], "does": "sleep 30"} for chip in "ABCD"},
    "bundle/s@A": {"needs": ["context/s@A"]},
}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("words", [(), ("-n", "4"), ("-c",), ("-n", "2", "-c")])
def test_a_stop_leaves_nothing_half_done(
    repo: Repo, words: tuple[str, ...], number: signal.Signals
) -> None:
    repo.recipe("s", SLOW)
    process = subprocess.Popen(
        [DOIT, *words, "s"], cwd=repo.root, env=repo.env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _wait_for((repo.root / "build" / "fetch-s").exists)
    time.sleep(0.2)
    asked = time.monotonic()
    process.send_signal(number)
    out, err = process.communicate(timeout=20)

    assert time.monotonic() - asked < 5
    assert (process.returncode, err) == (128 + number, "")
    assert without_times(out) == "made fetch/s (0.1 s)\nstopped: made 1, not built 5\n"
    started = 4 if "4" in words else 2 if "2" in words else 1
    assert len(list(repo.root.glob("tidied-*"))) == started


def test_after_a_stop_the_next_build_goes_on(repo: Repo) -> None:
    repo.recipe("s", SLOW)
    process = subprocess.Popen([DOIT, "s"], cwd=repo.root, env=repo.env, stdout=subprocess.DEVNULL)
    _wait_for((repo.root / "build" / "fetch-s").exists)
    process.terminate()
    process.wait(timeout=20)
    repo.ran()
    repo.recipe("s", {**SLOW, "context/s@A": {"needs": ["fetch/s"]}})
    repo.doit("bundle/s@A")

    assert repo.ran() == ["context/s@A", "bundle/s@A"]


def _wait_for(condition: Any, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_terminal_shows_one_live_line(repo: Repo) -> None:
    repo.env["TERM"] = "xterm"
    repo.recipe("s", {"fetch/s": {"does": "sleep 0.5"}})
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [DOIT, "s"], cwd=repo.root, env=repo.env, stdout=theirs, stderr=theirs, stdin=theirs
    )
    os.close(theirs)
    text = _read_all(ours)
    process.wait(timeout=20)

    assert process.returncode == 0
    assert all(part in text for part in ("━", "0/1", "fetch/s"))
    assert "\x1b[2K" in text  # the line is written over
    assert text.rpartition("\x1b[2K")[2].startswith("made 1; took ")


def _read_all(descriptor: int) -> str:
    parts = []
    while True:
        try:
            part = os.read(descriptor, 4096)
        except OSError:  # the other side has closed it
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_a_reader_that_had_enough_gets_no_traceback(repo: Repo) -> None:
    repo.recipe("many", {f"fetch/many-{n:05}": {} for n in range(5000)})
    done = subprocess.run(
        f"{DOIT} list --all | head -1", shell=True, cwd=repo.root, env=repo.env, text=True,
        capture_output=True, check=False,
    )  # fmt: skip

    assert done.stdout.startswith("bundle/m@A")
    assert done.stderr == ""


def test_the_output_can_go_to_a_file(repo: Repo) -> None:
    done = repo.doit("-o", "told.txt")

    assert done.stdout == ""
    assert (repo.root / "told.txt").read_text().splitlines()[-1].startswith("made 6; took ")


def test_doits_own_reporters_can_be_chosen(repo: Repo) -> None:
    done = repo.doit("-r", "json")

    assert {task["result"] for task in json.loads(done.stdout)["tasks"]} == {"success"}


def test_nothing_of_doits_own_is_left_in_the_repo(repo: Repo) -> None:
    repo.settle()

    assert sorted(path.name for path in repo.root.iterdir()) == sorted(
        [".qnnbuild", "build", "m.txt", "n.txt", "pyproject.toml", "recipes"]
    )
