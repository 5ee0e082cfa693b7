"""Ctrl-C, terminals and pipes."""

from __future__ import annotations

import json
import os
import pty
import shlex
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
    **{f"context/s@{chip}": {"needs": ["fetch/s"], "does": "sleep 300"} for chip in "ABCD"},
    "bundle/s@A": {"needs": ["context/s@A"]},
}

PATIENCE_S = 120  # on a machine that has much else to do; what is waited for sleeps longer


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
    started = 4 if "4" in words else 2 if "2" in words else 1
    _wait_for(lambda: len(list(repo.root.glob("asleep-*"))) == started)
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE_S)

    assert (process.returncode, err) == (128 + number, "")
    began, *stopped, again, last = without_times(out).splitlines()
    assert (began, last) == ("made fetch/s (0.1 s)", "stopped: made 1, not built 5")
    assert again == f"to go on from here: {shlex.join(['doit', *words, 's'])}"
    asleep = [path.name.removeprefix("asleep-") for path in repo.root.glob("asleep-*")]
    assert sorted(line.partition(" (")[0] for line in stopped) == sorted(
        f"stopped context/{name}" for name in asleep
    )
    assert len(list(repo.root.glob("tidied-*"))) == started


def test_after_a_stop_the_next_build_goes_on(repo: Repo) -> None:
    repo.recipe("s", SLOW)
    process = subprocess.Popen([DOIT, "s"], cwd=repo.root, env=repo.env, stdout=subprocess.DEVNULL)
    _wait_for((repo.root / "build" / "fetch-s").exists)
    process.terminate()
    process.wait(timeout=PATIENCE_S)
    repo.ran()
    repo.recipe("s", {**SLOW, "context/s@A": {"needs": ["fetch/s"]}})
    repo.doit("bundle/s@A")

    assert repo.ran() == ["context/s@A", "bundle/s@A"]


def _wait_for(condition: Any, seconds: float = PATIENCE_S) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


def test_a_terminal_shows_bars_with_the_last_time_and_what_comes_next(repo: Repo) -> None:
    repo.env["TERM"] = "xterm"
    repo.recipe(
        "s", {"fetch/s": {"does": "sleep 1"}, "context/s": {"needs": ["fetch/s"], "does": "warn"}}
    )
    (repo.root / "took-fetch-s").write_text("45")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [DOIT, "s"], cwd=repo.root, env=repo.env, stdout=theirs, stderr=theirs, stdin=theirs
    )
    os.close(theirs)
    text = _read_all(ours)
    process.wait(timeout=PATIENCE_S)

    assert process.returncode == 0
    assert all(part in text for part in ("━", "0/2", " of about 45 s", "at least 50 s left"))
    assert "then context/s after fetch/s" in text
    assert "\x1b[2Kwarning: careful\r\n" in text  # the bars make way for what is written
    assert text.rpartition("\x1b[2K")[2].startswith("made 2; took ")


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
