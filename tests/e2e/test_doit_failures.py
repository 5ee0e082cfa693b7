"""What doit says and which exit code it gives when recipes or actions go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.e2e.doit_repo import M, N, Repo, make_repo, without_times


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path)


@pytest.mark.parametrize("code", [2, 4, 5, 6])
@pytest.mark.parametrize("threads", [(), ("-n", "2")])
def test_a_failure_is_told_once_with_its_class_as_exit_code(
    repo: Repo, code: int, threads: tuple[str, ...]
) -> None:
    repo.recipe("m", {"fetch/m": {"does": f"fail {code}"}, "context/m@A": {"needs": ["fetch/m"]}})
    done = repo.doit(*threads, "m")

    assert (done.returncode, done.stderr) == (code, "")
    assert without_times(done.stdout) == (
        "failed fetch/m\n"
        "recipes/x.yaml:3:5: error: fetch/m went wrong\n"
        "    3 |   - it\n"
        "      |     ^^\n"
        "  log: /the/log\n"
        "  hint: mend it\n"
        "  more: qnnbuild show fetch/m\n"
        "  again: doit fetch/m\n"
        "failed 1, not built 1\n"
    )


def test_without_continue_nothing_new_starts_after_a_failure(repo: Repo) -> None:
    repo.recipe("m", {**M, "context/m@A": {"needs": ["fetch/m"], "does": "fail 4"}})
    done = repo.doit()

    assert repo.ran() == ["fetch/m"]
    assert without_times(done.stdout).splitlines()[-1] == "made 1, failed 1, not built 4"


@pytest.mark.parametrize("threads", [(), ("-n", "3")])
def test_with_continue_all_that_can_be_built_is(repo: Repo, threads: tuple[str, ...]) -> None:
    repo.recipe("m", {**M, "context/m@A": {"needs": ["fetch/m"], "does": "fail 5"}})
    done = repo.doit("--continue", *threads)

    assert done.returncode == 5
    assert sorted(repo.ran()) == ["context/m@B", "context/n@A", "fetch/m", "fetch/n"]
    assert without_times(done.stdout).splitlines()[-1] == "made 4, failed 1, not built 1"


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
