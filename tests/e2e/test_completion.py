"""What a real bash completes, and the hook for pre-commit."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.e2e.small_repo import BIN, SmallRepo, tiny_repo

ROOT = Path(__file__).parents[2]
ASK = """\
eval "$(qnnbuild completion bash)"
COMP_LINE="$1"; COMP_POINT=${#1}; COMP_TYPE=9; read -ra COMP_WORDS <<< "$1"
[[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
_python_argcomplete qnnbuild "${COMP_WORDS[COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    repo = tiny_repo(tmp_path_factory.mktemp("completion") / "repo")
    assert repo.doit("prepare/tiny/wide").code == 0
    return repo


def completed(repo: SmallRepo, line: str) -> list[str]:
    environment = {**os.environ, **repo.env, "PATH": f"{BIN}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", ASK, "bash", line], cwd=repo.root, env=environment,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [word.strip() for word in done.stdout.splitlines()]


def test_commands_options_chips_and_names_are_completed(repo: SmallRepo) -> None:
    assert completed(repo, "qnnbuild sh") == ["show", "shell"]
    assert "--stale" in completed(repo, "qnnbuild plan --")
    assert completed(repo, "qnnbuild graph --format m") == ["mermaid"]
    assert completed(repo, "qnnbuild chips SM8750") == ["SM8750"]
    assert completed(repo, "qnnbuild why prep") == ["prepare/tiny/wide"]


def test_outside_of_a_repo_there_are_no_names(repo: SmallRepo, tmp_path: Path) -> None:
    nowhere = SmallRepo(root=tmp_path, env=repo.env)

    assert completed(nowhere, "qnnbuild why prep") == [""]


def test_the_hook_is_one_that_pre_commit_takes() -> None:
    done = subprocess.run(
        [BIN / "pre-commit", "validate-manifest", ROOT / ".pre-commit-hooks.yaml"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (0, "")
