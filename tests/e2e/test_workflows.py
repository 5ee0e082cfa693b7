"""The workflows build the zoo as GitHub runs them: their own `run:` parts, job after job."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.e2e.remote_servers import plain_server
from tests.e2e.small_repo import BIN, RAN, REPO, SmallRepo, tiny_repo

pytestmark = pytest.mark.slow

WORKFLOWS = REPO / ".github" / "workflows"
MODE = "${{ github.event_name == 'pull_request' && 'read' || 'read-write' }}"
SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"], None: ["bash", "-e"]}
"""As GitHub starts them."""

PREPARED = ("make .venv/zoo.ready",)
"""What a machine of tests has already."""


def job(workflow: str, name: str) -> dict[str, Any]:
    told: dict[str, Any] = yaml.safe_load((WORKFLOWS / workflow).read_text(encoding="utf-8"))
    found: dict[str, Any] = told["jobs"][name]
    return found


class Machine:
    """A fresh checkout on a machine that nobody has used before."""

    def __init__(self, repo: SmallRepo, root: Path, values: Mapping[str, str]) -> None:
        self.repo = repo.copy(root)
        self.values = values
        (self.repo.root / ".venv").mkdir()
        (self.repo.root / ".venv/bin").symlink_to(BIN)
        self.outputs, self.summary = root / "outputs.txt", root / "summary.md"
        self.outputs.touch()
        self.summary.touch()

    def run(self, told: Mapping[str, Any]) -> str:
        """All steps that are scripts; what they printed."""
        said = ""
        for step in told["steps"]:
            if "run" in step and step["run"] not in PREPARED:
                said += self._step(step)
        return said

    def _step(self, step: Mapping[str, Any]) -> str:
        assert "${{" not in step["run"]  # values come by the environment only
        env = {name: self._value(text) for name, text in step.get("env", {}).items()}
        github = {"GITHUB_OUTPUT": str(self.outputs), "GITHUB_STEP_SUMMARY": str(self.summary)}
        done = subprocess.run(
            [*SHELLS[step.get("shell")], "-c", step["run"]], cwd=self.repo.root, text=True,
            env={**self.repo.env, **github, "GITHUB_ACTIONS": "true", **self._cache(), **env},
            capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _cache(self) -> dict[str, str]:
        return {"QNNBUILD_REMOTE_CACHE": self.values["vars.QNNBUILD_REMOTE_CACHE"]}

    def _value(self, text: str) -> str:
        if text == MODE:
            return "read-write"
        found = re.fullmatch(r"\$\{\{ ([\w.]+) \}\}", text)
        return self.values[found[1]] if found else text

    def told(self) -> dict[str, Any]:
        """The job's outputs."""
        lines = (line.split("=", 1) for line in self.outputs.read_text().splitlines())
        return {name: json.loads(text) for name, text in lines}


@pytest.fixture
def values() -> Iterator[dict[str, str]]:
    with plain_server() as server:
        server.wants = "Bearer opens"
        yield {
            "vars.QNNBUILD_REMOTE_CACHE": server.url,
            "secrets.QNNBUILD_REMOTE_CACHE_TOKEN": "opens",
            "secrets.token": "opens",
        }


def test_the_jobs_of_a_build_make_each_action_once(tmp_path, values):
    repo = tiny_repo(tmp_path / "repo")
    plan = Machine(repo, tmp_path / "plan", values)
    plan.run(job("build.yml", "plan"))
    made: list[str] = []
    for kind in ("first", "chips"):
        for part in plan.told()[kind]:
            for one in part["include"]:
                matrix = {f"matrix.{name}": str(value) for name, value in one.items()}
                machine = Machine(repo, tmp_path / one["artifact"], {**values, **matrix})
                ran = RAN.findall(machine.run(job("shares.yml", "share")))
                assert len(ran) == one["actions"]
                assert machine.summary.read_text().startswith(f"{one['share']} - made ")
                made += ran
    whole = Machine(repo, tmp_path / "whole", values)
    made += RAN.findall(whole.run(job("build.yml", "whole")))

    assert len(made) == len(set(made)) == 17
    assert (whole.repo.root / "build/index.json").exists()
    assert "fetched" in whole.summary.read_text()


def test_a_second_build_has_no_jobs(tmp_path, values):
    repo = tiny_repo(tmp_path / "repo")
    Machine(repo, tmp_path / "first", values).run(job("build.yml", "whole"))
    plan = Machine(repo, tmp_path / "plan", values)
    plan.run(job("build.yml", "plan"))

    assert plan.told() == {"first": [], "chips": [], "last": []}


def test_a_share_that_fails_fails_its_job(tmp_path, values):
    repo = tiny_repo(tmp_path / "repo")
    (repo.root / "onnx/small.onnx").write_bytes(b"no model")
    matrix = {"matrix.share": "first/quiet", "matrix.artifact": "first-quiet"}
    machine = Machine(repo, tmp_path / "one", {**values, **matrix})
    with pytest.raises(AssertionError, match="::error"):
        machine.run(job("shares.yml", "share"))


def test_scripts_are_the_same_as_the_makefiles():
    """What this test leaves out is what a fresh machine runs first."""
    makefile = (REPO / "Makefile").read_text(encoding="utf-8")
    jobs = [job("build.yml", "plan"), job("build.yml", "whole"), job("shares.yml", "share")]
    scripts = [step["run"] for one in jobs for step in one["steps"] if "run" in step]

    assert scripts.count(PREPARED[0]) == 3
    assert ".venv/zoo.ready:" in makefile


@pytest.mark.parametrize("path", sorted(WORKFLOWS.glob("*.yml")), ids=lambda path: path.name)
def test_a_workflow_names_actions_by_commit_and_may_nothing_by_itself(path):
    text = path.read_text(encoding="utf-8")
    used = [u for u in re.findall(r"uses: (.+)", text) if not u.startswith("./")]

    assert [u for u in used if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", u)] == []
    assert yaml.safe_load(text)["permissions"] == {}
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
