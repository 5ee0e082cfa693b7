"""Real doit, run as its users run it, over a build that only counts itself."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

REPO = Path(__file__).resolve().parents[2]
DOIT = str(Path(sys.executable).with_name("doit"))
SETTLE_S = 0.06

COMMANDS = ("run", "list", "info", "clean", "forget", "ignore")
PYPROJECT = """\
[tool.doit]
loader = "qnnbuild"

[tool.doit.plugins]
loader = {qnnbuild = "fake_loader:FakeLoader"}
backend = {qnnbuild = "qnnbuild.bridge.db:Db"}

[tool.doit.plugins.command]
""" + "".join(f'{name} = "qnnbuild.bridge.commands:{name.capitalize()}"\n' for name in COMMANDS)

M = {
    "fetch/m": {"reads": "m.txt"},
    "context/m@A": {"needs": ["fetch/m"]},
    "context/m@B": {"needs": ["fetch/m"]},
    "bundle/m@A": {"needs": ["context/m@A"]},
}
N = {"fetch/n": {"reads": "n.txt"}, "context/n@A": {"needs": ["fetch/n"]}}


@dataclass
class Repo:
    root: Path
    env: dict[str, str] = field(default_factory=dict)

    def recipe(self, model: str, told: Any) -> None:
        (self.root / "recipes").mkdir(exist_ok=True)
        (self.root / "recipes" / f"{model}.yaml").write_text(json.dumps(told))

    def doit(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [DOIT, *words], cwd=self.root, env=self.env, text=True, capture_output=True, check=False
        )

    def ran(self) -> list[str]:
        """What ran since this was asked last."""
        return self._taken("ran.txt")

    def opened(self) -> list[str]:
        """What was planned since this was asked last."""
        return self._taken("opened.txt")

    def _taken(self, name: str) -> list[str]:
        path = self.root / name
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return lines

    def settle(self) -> None:
        """Build until the gate is shut, and forget about it."""
        for _ in range(3):
            time.sleep(SETTLE_S)
            done = self.doit()
            assert done.returncode == 0, done.stdout + done.stderr
        self.ran()
        self.opened()


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    # the package is looked at as it was when the test began: someone may be editing it
    env = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    env |= {"PYTHONPATH": f"{REPO}{os.pathsep}{Path(__file__).parent}", "COLUMNS": "100"}
    (tmp_path / "pyproject.toml").write_text(PYPROJECT)
    for name in ("m", "n"):
        (tmp_path / f"{name}.txt").write_text(name)
    made = Repo(tmp_path, env)
    made.recipe("m", M)
    made.recipe("n", N)
    return made


def _without_times(text: str) -> str:
    """Durations differ from run to run."""
    words = [line.partition("; took")[0] for line in text.splitlines()]
    return "\n".join(words) + "\n"


@pytest.mark.parametrize("words", [(), ("-n", "4"), ("-n", "2", "-P", "thread"), ("m", "n")])
def test_everything_is_made_once_and_needs_come_first(repo: Repo, words: tuple[str, ...]) -> None:
    first = repo.doit(*words)
    ran = repo.ran()
    second = repo.doit(*words)

    assert (first.returncode, first.stderr) == (0, "")
    assert sorted(ran) == sorted([*M, *N])
    assert ran.index("fetch/m") < ran.index("context/m@A") < ran.index("bundle/m@A")
    assert repo.ran() == []
    assert _without_times(second.stdout) == "nothing to do: reused 6\n"


def test_a_pipe_gets_a_line_for_each_action_and_a_summary(repo: Repo) -> None:
    done = repo.doit()

    assert _without_times(done.stdout) == (
        "made fetch/m (0.1 s)\n"
        "made context/m@A (0.1 s)\n"
        "made context/m@B (0.1 s)\n"
        "made bundle/m@A (0.1 s)\n"
        "made fetch/n (0.1 s)\n"
        "made context/n@A (0.1 s)\n"
        "made 6\n"
    )


def test_behind_the_gate_nothing_is_planned_and_the_time_saved_is_told(repo: Repo) -> None:
    repo.settle()
    done = repo.doit()

    assert repo.opened() == []
    assert _without_times(done.stdout) == "nothing to do: reused 6\n"
    assert done.stdout.endswith(", saved 6 min 0 s\n")


def test_a_build_of_nothing_imports_nothing_heavy(repo: Repo) -> None:
    repo.settle()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "doit"],
        cwd=repo.root, env=repo.env, text=True, capture_output=True, check=True,
    )  # fmt: skip
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}

    assert "qnnbuild.engine.gate" in imported
    assert not imported & {
        "yaml", "rich", "jsonschema", "sqlite3", "onnx", "numpy", "qnnbuild.text.render",
        "qnnbuild.session", "qnnbuild.engine.builder", "qnnbuild.actions.plan",
    }  # fmt: skip


def test_an_edit_opens_one_model_and_runs_what_it_reaches(repo: Repo) -> None:
    repo.settle()
    (repo.root / "n.txt").write_text("other")
    done = repo.doit()

    assert repo.opened() == ["recipes/n.yaml"]
    assert repo.ran() == ["fetch/n", "context/n@A"]
    assert _without_times(done.stdout).splitlines()[-1] == "made 2, reused 4"


def test_a_touch_runs_nothing(repo: Repo) -> None:
    repo.settle()
    (repo.root / "n.txt").touch()
    done = repo.doit()

    assert repo.ran() == []
    assert _without_times(done.stdout) == "nothing to do: reused 6\n"


def test_a_damaged_output_is_made_again(repo: Repo) -> None:
    repo.settle()
    (repo.root / "build" / "context-n@A").write_text("damaged")
    repo.doit()

    assert repo.ran() == ["context/n@A"]


def test_list_shows_models_and_all_shows_actions(repo: Repo) -> None:
    models, everything, some = (
        repo.doit("list"),
        repo.doit("list", "--all"),
        repo.doit("list", "context/*@A"),
    )

    assert models.stdout == "m   everything of m\nn   everything of n\n"
    assert [line.split()[0] for line in everything.stdout.splitlines()] == sorted(
        [*M, *N, "m", "n"]
    )
    assert some.stdout == ("context/m@A   makes context/m@A\ncontext/n@A   makes context/n@A\n")
    assert repo.ran() == []


def test_list_tells_the_status_of_a_whole_model(repo: Repo) -> None:
    repo.doit("n")
    done = repo.doit("list", "-s")

    assert done.stdout == "R m   everything of m\nU n   everything of n\n"


def test_a_pattern_builds_what_it_names_and_what_that_needs(repo: Repo) -> None:
    done = repo.doit("bundle/*@A")

    assert done.returncode == 0
    assert repo.ran() == ["fetch/m", "context/m@A", "bundle/m@A"]
    assert _without_times(done.stdout).splitlines()[-1] == "made 3"


@pytest.mark.parametrize("pattern", ["context/?@A", "context/[mn]@A"])
def test_patterns_without_a_star_work_too(repo: Repo, pattern: str) -> None:
    repo.doit(pattern)

    assert repo.ran() == ["fetch/m", "context/m@A", "fetch/n", "context/n@A"]


def test_names_and_patterns_behind_the_gate_open_nothing(repo: Repo) -> None:
    repo.settle()
    done = [repo.doit(word) for word in ("bundle/m@A", "context/*", "n")]

    assert repo.opened() == []
    assert [_without_times(d.stdout) for d in done] == [
        "nothing to do: reused 1\n",
        "nothing to do: reused 3\n",
        "nothing to do: reused 2\n",
    ]


@pytest.mark.parametrize("is_shut", [False, True])
@pytest.mark.parametrize(
    "words",
    [
        ("contxt/m@A",),
        ("list", "contxt/m@A"),
        ("info", "contxt/m@A"),
        ("forget", "contxt/m@A"),
        ("clean", "contxt/m@A"),
    ],
)
def test_a_name_that_is_none_says_which_are_near(
    repo: Repo, words: tuple[str, ...], is_shut: bool
) -> None:
    if is_shut:
        repo.settle()
    done = repo.doit(*words)

    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith(
        "error: nothing is named 'contxt/m@A'\n  hint: did you mean 'context/m@A' or "
    )


def test_a_pattern_that_matches_nothing_is_an_error(repo: Repo) -> None:
    done = repo.doit("bundle/*@Z")

    assert (done.returncode, repo.ran()) == (3, [])
    assert done.stderr.startswith("error: nothing is named 'bundle/*@Z'\n")


def test_an_option_behind_a_name_says_where_it_belongs(repo: Repo) -> None:
    done = repo.doit("m", "-n", "4")

    assert (done.returncode, repo.ran()) == (3, [])
    assert done.stderr == (
        "error: the option -n stands behind a name\n"
        "  hint: doit takes its options first: doit -n 4 --continue NAME\n"
    )


def test_a_name_behind_the_gate_opens_nothing_while_others_are_not_built(repo: Repo) -> None:
    for _ in range(3):
        time.sleep(SETTLE_S)
        repo.doit("n")
    repo.opened()
    done = [repo.doit(*words) for words in (["n"], ["context/n@A"], ["n", "fetch/n"])]

    assert [d.returncode for d in done] == [0, 0, 0]
    assert repo.opened() == []


def test_info_tells_why_it_would_run(repo: Repo) -> None:
    stale, waits = repo.doit("info", "fetch/m"), repo.doit("info", "context/m@A")
    repo.doit()
    current = repo.doit("info", "context/m@A")

    assert stale.returncode == waits.returncode == 1
    assert "never built" in stale.stdout
    assert "waits for fetch/m" in waits.stdout
    assert current.returncode == 0
    assert current.stdout == (
        "\ncontext/m@A\n\nmakes context/m@A\n\nstatus     : up-to-date\n"
        "\ntask_dep   : \n - fetch/m\n"
    )


def test_info_takes_a_pattern(repo: Repo) -> None:
    done = repo.doit("info", "fetch/*")

    assert [line for line in done.stdout.splitlines() if line.startswith("fetch/")] == [
        "fetch/m",
        "fetch/n",
    ]


def test_clean_takes_build_away_and_the_next_build_puts_it_back(repo: Repo) -> None:
    repo.settle()
    dry = repo.doit("clean", "--dry-run", "fetch/n")
    still_there = (repo.root / "build" / "fetch-n").exists()
    one = repo.doit("clean", "fetch/n")
    repo.doit()
    made_again = repo.ran()
    repo.doit("clean")

    assert dry.stdout == one.stdout == "removing build/fetch-n\n"
    assert still_there
    assert made_again == ["fetch/n"]
    assert not list((repo.root / "build").glob("*-*"))


@pytest.mark.parametrize(
    ("words", "again"),
    [
        (("forget", "fetch/n"), ["fetch/n"]),
        (("forget", "context/*"), ["context/m@A", "context/m@B", "context/n@A"]),
        (("forget", "n"), ["fetch/n", "context/n@A"]),
        (("forget", "-s", "context/n@A"), ["fetch/n", "context/n@A"]),
        (("forget",), [*M, *N]),
        (("forget", "--all"), [*M, *N]),
    ],
)
def test_what_was_forgotten_runs_again(
    repo: Repo, words: tuple[str, ...], again: list[str]
) -> None:
    repo.settle()
    done = repo.doit(*words)
    repo.doit()

    assert done.returncode == 0
    assert repo.ran() == again


def test_always_runs_everything_that_is_selected(repo: Repo) -> None:
    repo.settle()
    done = repo.doit("-a", "n")

    assert repo.ran() == ["fetch/n", "context/n@A"]
    assert _without_times(done.stdout).splitlines()[-1] == "cut off 2"


def test_single_runs_the_one_without_what_it_needs(repo: Repo) -> None:
    repo.settle()
    (repo.root / "m.txt").write_text("other")
    repo.doit("-s", "fetch/m")

    assert repo.ran() == ["fetch/m"]


def test_ignoring_one_of_ours_is_refused(repo: Repo) -> None:
    done = repo.doit("ignore", "fetch/m")

    assert done.returncode == 3
    assert done.stderr == (
        "error: fetch/m cannot be ignored: what needs it would be built without it\n"
        "  hint: name what to build instead, or take it out of the recipe\n"
    )


@pytest.mark.parametrize("code", [2, 4, 5, 6])
@pytest.mark.parametrize("threads", [(), ("-n", "2")])
def test_a_failure_is_told_once_with_its_class_as_exit_code(
    repo: Repo, code: int, threads: tuple[str, ...]
) -> None:
    repo.recipe("m", {"fetch/m": {"does": f"fail {code}"}, "context/m@A": {"needs": ["fetch/m"]}})
    done = repo.doit(*threads, "m")

    assert (done.returncode, done.stderr) == (code, "")
    assert _without_times(done.stdout) == (
        "failed fetch/m\n"
        "recipes/x.yaml:3:5: error: fetch/m went wrong\n"
        "    3 |   - it\n"
        "      |     ^^\n"
        "  log: /the/log\n"
        "  hint: mend it\n"
        "  more: qnnbuild show fetch/m\n"
        "failed 1, not built 1\n"
    )


def test_without_continue_nothing_new_starts_after_a_failure(repo: Repo) -> None:
    repo.recipe("m", {**M, "context/m@A": {"needs": ["fetch/m"], "does": "fail 4"}})
    done = repo.doit()

    assert repo.ran() == ["fetch/m"]
    assert _without_times(done.stdout).splitlines()[-1] == "made 1, failed 1, not built 4"


@pytest.mark.parametrize("threads", [(), ("-n", "3")])
def test_with_continue_all_that_can_be_built_is(repo: Repo, threads: tuple[str, ...]) -> None:
    repo.recipe("m", {**M, "context/m@A": {"needs": ["fetch/m"], "does": "fail 5"}})
    done = repo.doit("--continue", *threads)

    assert done.returncode == 5
    assert sorted(repo.ran()) == ["context/m@B", "context/n@A", "fetch/m", "fetch/n"]
    assert _without_times(done.stdout).splitlines()[-1] == "made 4, failed 1, not built 1"


def test_of_several_failures_the_lowest_class_is_the_exit_code(repo: Repo) -> None:
    repo.recipe("m", {"fetch/m": {"does": "fail 6"}})
    repo.recipe("n", {"fetch/n": {"does": "fail 4"}})

    assert repo.doit("-c").returncode == 4


def test_what_failed_is_tried_again_and_the_rest_is_not(repo: Repo) -> None:
    repo.recipe("n", {**N, "context/n@A": {"needs": ["fetch/n"], "does": "fail 4"}})
    repo.doit()
    repo.doit()
    repo.ran()
    repo.recipe("n", N)
    done = repo.doit()

    assert done.returncode == 0
    assert repo.ran() == ["context/n@A"]


def test_a_source_that_is_missing_is_an_error_and_no_traceback(repo: Repo) -> None:
    (repo.root / "n.txt").unlink()
    done = repo.doit("n")

    assert done.returncode == 2
    assert "error: no such file: n.txt\n" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_bug_of_ours_is_shown_once(repo: Repo) -> None:
    repo.recipe("m", {"fetch/m": {"does": "break"}})
    done = repo.doit("m")

    assert done.returncode == 1
    assert done.stdout.count("Traceback") == 1


BAD = (
    "recipes/bad.yaml:1:1: error: a list is no recipe\n"
    "    1 | [1]\n"
    "      | ^\n"
)  # fmt: skip


def test_a_bad_recipe_stops_before_anything_runs(repo: Repo) -> None:
    repo.recipe("bad", [1])
    repo.recipe("worse", [1])
    done = repo.doit()

    assert (done.returncode, done.stdout, repo.ran()) == (2, "", [])
    assert done.stderr == BAD + BAD.replace("bad", "worse")


def test_with_continue_the_good_recipes_are_built(repo: Repo) -> None:
    repo.recipe("bad", [1])
    done = repo.doit("--continue")

    assert (done.returncode, done.stderr) == (2, BAD)
    assert sorted(repo.ran()) == sorted([*M, *N])


def test_a_bad_recipe_is_told_each_time_and_the_good_stay_behind_the_gate(repo: Repo) -> None:
    repo.settle()
    repo.recipe("bad", [1])
    done = [repo.doit() for _ in range(3)]

    assert [d.returncode for d in done] == [2, 2, 2]
    assert repo.opened() == ["recipes/bad.yaml"] * 3


def test_list_shows_the_good_recipes_and_tells_the_bad(repo: Repo) -> None:
    repo.recipe("bad", [1])
    done = repo.doit("list")

    assert (done.returncode, done.stderr) == (2, BAD)
    assert done.stdout == "m   everything of m\nn   everything of n\n"


def test_on_github_errors_are_annotations(repo: Repo) -> None:
    repo.recipe("bad", [1])
    repo.env["GITHUB_ACTIONS"] = "true"
    done = repo.doit()

    assert done.stderr == "::error file=recipes/bad.yaml,line=1,col=1::a list is no recipe\n"


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
    assert _without_times(out) == "made fetch/s (0.1 s)\nstopped: made 1, not built 5\n"
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


# --- a dodo.py ------------------------------------------------------------------------------

OWN_TASK = """
def task_hello():
    return {
        "actions": ["echo hello >> hello.txt"], "file_dep": ["n.txt"], "targets": ["hello.txt"],
        "task_dep": ["fetch/n"],
    }
"""
BRING = """
from qnnbuild.bridge import dodo

dodo.PLUGINS["LOADER"]["qnnbuild"] = "fake_loader:FakeLoader"
dodo.run(globals())
"""


@pytest.mark.parametrize("loader_is_named", [True, False])
def test_a_dodo_py_may_have_tasks_of_its_own(repo: Repo, loader_is_named: bool) -> None:
    (repo.root / "dodo.py").write_text(OWN_TASK + BRING)
    if not loader_is_named:
        (repo.root / "pyproject.toml").unlink()
    first = repo.doit("hello")
    ran = repo.ran()
    repo.settle()
    listed = repo.doit("list")
    behind = repo.doit("hello")

    assert first.returncode == behind.returncode == 0
    assert ran == ["fetch/n"]
    assert listed.stdout == "hello   \nm       everything of m\nn       everything of n\n"
    assert (repo.root / "hello.txt").read_text() == "hello\n"


def test_a_dodo_py_alone_gives_the_same_commands_and_exit_codes(repo: Repo) -> None:
    (repo.root / "pyproject.toml").unlink()
    (repo.root / "dodo.py").write_text(BRING)
    built, again = repo.doit("-n", "2"), repo.doit()
    wrong, info = repo.doit("bundle/*@Z"), repo.doit("info", "fetch/m")

    assert _without_times(built.stdout).splitlines()[-1] == "made 6"
    assert _without_times(again.stdout) == "nothing to do: reused 6\n"
    assert (wrong.returncode, info.returncode) == (3, 0)
    assert not list(repo.root.glob(".doit.db*"))


def test_a_dodo_py_can_be_run_itself(repo: Repo) -> None:
    (repo.root / "dodo.py").write_text(BRING)
    done = subprocess.run(
        [sys.executable, "dodo.py", "list"],
        cwd=repo.root, env=repo.env, text=True, capture_output=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "m   everything of m\nn   everything of n\n")


def test_a_failed_task_of_the_dodo_py_is_doits_own_matter(repo: Repo) -> None:
    (repo.root / "dodo.py").write_text('def task_no():\n    return {"actions": ["exit 1"]}\n')
    done = repo.doit("no")

    assert done.returncode == 1
    assert "TaskFailed - taskid:no" in done.stdout
