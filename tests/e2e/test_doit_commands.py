"""Every command of doit, run as its users run it, over a build that only counts itself."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.e2e.doit_repo import SETTLE_S, M, N, Repo, make_repo, without_times

pytestmark = pytest.mark.long_file(seconds=40)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.mark.parametrize("words", [(), ("-n", "4"), ("-n", "2", "-P", "thread"), ("m", "n")])
def test_everything_is_made_once_and_needs_come_first(repo: Repo, words: tuple[str, ...]) -> None:
    first = repo.doit(*words)
    ran = repo.ran()
    second = repo.doit(*words)

    assert (first.returncode, first.stderr) == (0, "")
    assert sorted(ran) == sorted([*M, *N])
    assert ran.index("fetch/m") < ran.index("context/m@A") < ran.index("bundle/m@A")
    assert repo.ran() == []
    assert without_times(second.stdout) == "nothing to do: reused 6\n"


def test_a_pipe_gets_a_line_for_each_action_and_a_summary(repo: Repo) -> None:
    done = repo.doit()

    assert without_times(done.stdout) == (
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
    assert without_times(done.stdout) == "nothing to do: reused 6\n"
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
    assert without_times(done.stdout).splitlines()[-1] == "made 2, reused 4"


def test_a_touch_runs_nothing(repo: Repo) -> None:
    repo.settle()
    (repo.root / "n.txt").touch()
    done = repo.doit()

    assert repo.ran() == []
    assert without_times(done.stdout) == "nothing to do: reused 6\n"


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
    assert without_times(done.stdout).splitlines()[-1] == "made 3"


@pytest.mark.parametrize("pattern", ["context/?@A", "context/[mn]@A"])
def test_patterns_without_a_star_work_too(repo: Repo, pattern: str) -> None:
    repo.doit(pattern)

    assert repo.ran() == ["fetch/m", "context/m@A", "fetch/n", "context/n@A"]


def test_names_and_patterns_behind_the_gate_open_nothing(repo: Repo) -> None:
    repo.settle()
    done = [repo.doit(word) for word in ("bundle/m@A", "context/*", "n")]

    assert repo.opened() == []
    assert [without_times(d.stdout) for d in done] == [
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
    assert without_times(done.stdout).splitlines()[-1] == "cut off 2"


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


def test_the_settings_say_how_much_runs_at_once_and_the_command_line_wins(repo: Repo) -> None:
    repo.recipe("o", {"a/o": {"does": "meet 2"}, "b/o": {"does": "meet 2"}})
    (repo.root / "threads.txt").write_text("2")
    together = repo.doit("o")
    for path in repo.root.glob("here-*"):
        path.unlink()
    alone = repo.doit("-n", "0", "-a", "o")

    assert (together.returncode, alone.returncode) == (0, 4)
