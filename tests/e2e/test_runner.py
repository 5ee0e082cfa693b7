"""Running an action: what it sees, and what becomes of one that misbehaves."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, SourceOnnx
from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_bytes, digest_file
from qnnbuild.engine.runner import Made, Runner, Stage
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import Workers
from qnnbuild.errors import Span, StoreError, ToolError
from tests.e2e.processes import alive

KEY = "ab" + "0" * 62
PLACE = Span(file="recipes/x.yaml", line=7, column=3)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(path=sys.path)
    yield shared
    shared.close()


@pytest.fixture
def runner(tmp_path: Path, workers: Workers) -> Runner:
    return Runner(Store(tmp_path / "store", Stats()), workers, os.environ)


def doing(function: str, **more: object) -> Action:
    values = {
        "name": "context/m/g@SM8750",
        "step": "context",
        "call": f"tests.e2e.misbehaving:{function}",
        "outputs": ("o",),
        "places": {"inputs.x": PLACE},
        "deadline_s": 30.0,
    }
    return Action(**{**values, **more})  # type: ignore[arg-type]


def made(runner: Runner, action: Action) -> Made:
    return runner.run(action, KEY, {})


def text_of(runner: Runner, run: Made) -> str:
    ((digest, _),) = run.outputs["o"].files.values()
    return runner.store.path(digest).read_text()


def test_an_action_sees_its_own_folder_and_a_fixed_environment(runner: Runner) -> None:
    seen = text_of(runner, made(runner, doing("shows_its_world")))

    assert "'HOME', 'LANG', 'LC_ALL', 'OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', " in seen
    assert seen.endswith("['home', 'in', 'out', 'tmp']]")


def test_a_mistake_of_the_user_is_told_at_its_place(runner: Runner) -> None:
    with pytest.raises(ToolError) as caught:
        made(runner, doing("says_what_is_wrong"))

    (problem,) = caught.value.problems
    assert problem.message == "input 'x' has rank 3"
    assert problem.at == PLACE
    assert problem.facts[:2] == (("model", "rank 4"), ("action", "context/m/g@SM8750"))
    assert problem.hint == "write four"


def test_a_failure_shows_the_end_of_its_log(runner: Runner) -> None:
    with pytest.raises(ToolError, match="failed with exit code 70") as caught:
        made(runner, doing("raises"))

    lines = dict(caught.value.problems[0].facts)["last lines"].splitlines()
    assert lines[0] == "about to fail"
    assert lines[-1] == "ZeroDivisionError: a mistake of ours"


def test_the_log_is_kept_after_a_failure(runner: Runner) -> None:
    with pytest.raises(ToolError):
        made(runner, doing("raises"))

    assert "about to fail" in runner.store.log(KEY).read_text()


def test_a_crash_is_told_with_its_signal_and_the_next_action_runs(runner: Runner) -> None:
    with pytest.raises(ToolError, match="was ended by signal 11"):
        made(runner, doing("crashes"))

    assert text_of(runner, made(runner, doing("well"))) == "well"


def test_a_good_exit_without_the_promised_output_is_a_failure(runner: Runner) -> None:
    with pytest.raises(ToolError, match="ended well but did not make 'o'"):
        made(runner, doing("forgets_its_output"))


@pytest.mark.parametrize("outputs", [("o",), ("o", "p")])
def test_who_removes_the_folder_of_an_output_did_not_make_it(
    runner: Runner, outputs: tuple[str, ...]
) -> None:
    with pytest.raises(ToolError, match="ended well but did not make 'o'"):
        made(runner, doing("removes_its_outputs", outputs=outputs))


def test_a_link_is_no_output(runner: Runner) -> None:
    with pytest.raises(ToolError, match="made a link where a file is wanted: value"):
        made(runner, doing("makes_a_link"))


def test_a_deadline_ends_the_action_and_what_it_started(runner: Runner, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    action = doing("hangs_with_a_child", params={"pids": str(pids)}, deadline_s=4.0)
    with pytest.raises(ToolError, match="took longer than its deadline of 4 s"):
        made(runner, action)

    assert [alive(int(pid)) for pid in pids.read_text().split()] == [False, False]


def test_nothing_of_a_failed_run_stays_in_the_store(runner: Runner) -> None:
    with pytest.raises(ToolError):
        made(runner, doing("raises"))

    assert list((runner.store.root / "tmp").iterdir()) == []
    assert list((runner.store.root / "artifacts").iterdir()) == []


def test_warnings_are_kept_with_their_place(runner: Runner) -> None:
    run = made(runner, doing("warns"))

    assert run.warnings == ("recipes/x.yaml:7:3: input 'x' is not used",)


def test_a_program_runs_without_a_shell(runner: Runner) -> None:
    argv = ("cp", "/etc/hostname", "{out.o}/a b;c")
    run = made(runner, doing("", call=None, argv=argv))

    assert list(run.outputs["o"].files) == ["a b;c"]


def test_a_program_that_is_not_there_is_named(runner: Runner) -> None:
    with pytest.raises(ToolError, match="exit code 127") as caught:
        made(runner, doing("", call=None, argv=("qnn-no-such-tool",)))

    assert ("last lines", "qnn-no-such-tool: No such file or directory") in (
        caught.value.problems[0].facts
    )


def test_a_failure_on_a_full_disk_says_that_it_is_full(
    runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = type("Usage", (), {"free": 4096})
    monkeypatch.setattr("qnnbuild.engine.runner.shutil.disk_usage", lambda _: usage)
    with pytest.raises(StoreError) as caught:
        made(runner, doing("raises"))

    assert str(caught.value) == "context/m/g@SM8750 failed: the store's disk is full"


def test_large_outputs_are_kept_each_under_its_name(runner: Runner) -> None:
    run = made(runner, doing("makes_large_outputs", outputs=("one", "two", "other")))

    assert list(run.outputs) == ["one", "two", "other"]
    for name, tree in run.outputs.items():
        ((digest, size),) = tree.files.values()
        assert runner.store.path(digest).read_bytes() == name[:1].encode() * size


def test_what_is_wrong_with_a_large_output_is_told(runner: Runner) -> None:
    with pytest.raises(ToolError, match="made a link where a file is wanted: link"):
        made(runner, doing("makes_large_outputs", outputs=("one", "bad")))


LARGE = b"7" * (1 << 24)


@pytest.mark.parametrize("adds", [0, 1])
def test_what_an_action_hands_on_is_not_read_again(
    runner: Runner, monkeypatch: pytest.MonkeyPatch, adds: int
) -> None:
    """But for what it was given and wrote to."""
    read: list[Path] = []

    def noted(path: Path) -> str:
        read.append(path)
        return digest_file(path)

    monkeypatch.setattr("qnnbuild.engine.store.digest_file", noted)
    given = Tree(files={"model": (digest_bytes(LARGE), len(LARGE))})
    stage = Stage(tree=given, fill=lambda folder: _write(folder / "model", LARGE))
    action = doing("hands_on", inputs={"i": SourceOnnx(path="a.onnx")}, params={"adds": adds})
    run = runner.run(action, KEY, {"i": stage})
    path = runner.store.path(run.outputs["o"].files["model"][0])

    assert run.outputs["o"] == Tree(
        files={"model": (digest_bytes(LARGE + bytes(adds)), len(LARGE) + adds)}
    )
    assert len(read) == adds
    assert path.read_bytes() == LARGE + bytes(adds)
    assert path.stat().st_mtime > time.time() - 3600


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)
