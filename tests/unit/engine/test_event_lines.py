"""Events in a file or pipe: whole lines, and a build that goes on without a reader."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from qnnbuild.engine.event_lines import EventLines, open_descriptor
from qnnbuild.errors import Problem, RecipeError


def read(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="ascii").splitlines()]


def test_each_event_is_a_line_with_its_number_and_time(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text("of the build before\n")
    lines = EventLines(open_descriptor(str(path)), clock=lambda: 1_767_323_045.25)
    lines.write("a", {"name": "ü\udcff\n"})
    lines.write("b", {})
    lines.close()
    lines.write("c", {})

    time = "2026-01-02T03:04:05.250Z"
    assert read(path) == [
        {"event": "a", "n": 1, "time": time, "name": "ü\udcff\n"},
        {"event": "b", "n": 2, "time": time},
    ]


def test_threads_do_not_mix_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "events"
    lines = EventLines(open_descriptor(str(path)))
    long = {"text": "x" * 10_000}
    threads = [threading.Thread(target=lines.write, args=("a", long)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines.close()

    assert [line["n"] for line in read(path)] == list(range(1, 21))


def test_a_pipe_that_takes_a_part_gets_the_rest_later() -> None:
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)
    lines = EventLines(theirs)
    told = {"text": "x" * 300_000}  # a pipe has room for 64 KB
    thread = threading.Thread(target=lines.write, args=("a", told))
    thread.start()
    with os.fdopen(ours, "rb") as file:
        line = file.readline()
    thread.join()
    lines.close()

    assert json.loads(line)["text"] == told["text"]


def test_a_reader_that_goes_away_is_told_of_once() -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    told: list[Problem] = []
    lines = EventLines(theirs, tell=told.append)
    lines.write("a", {})
    lines.write("b", {})

    assert [problem.message for problem in told] == ["no more events are written: Broken pipe"]
    assert told[0].facts == (("the last", "a, number 1"),)


def test_dev_fd_is_the_descriptor_itself() -> None:
    ours, theirs = os.pipe()
    lines = EventLines(open_descriptor(f"/dev/fd/{theirs}"))
    os.close(theirs)
    lines.write("a", {})
    lines.close()
    with os.fdopen(ours, "rb") as file:
        assert json.loads(file.read())["event"] == "a"


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ("/nowhere/events", "No such file or directory"),
        ("/", "Is a directory"),
        ("/dev/fd/999999", "Bad file descriptor"),
        ("", "No such file or directory"),
    ],
)
def test_what_cannot_be_written_to_is_an_error_with_a_way_out(where: str, why: str) -> None:
    with pytest.raises(RecipeError) as caught:
        open_descriptor(where)

    (problem,) = caught.value.problems
    assert problem.message == f"--json-events: events cannot be written to {where}: {why}"
    assert problem.hint == (
        "name a file in a folder that is there, - for stdout, or /dev/fd/3 for a descriptor"
    )
