"""Jobs of workflows, run as GitHub runs them: their own `run:` parts, in a fresh checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tests.e2e.small_repo import BIN, REPO, SmallRepo

WORKFLOWS = REPO / ".github" / "workflows"
MODE = "github.event_name == 'pull_request' && 'read' || 'read-write'"
TRUST = (
    "github.event_name == 'pull_request' && "
    "github.event.pull_request.head.repo.full_name != github.repository && 'no' || ''"
)
KEY = "github.event_name != 'pull_request' && secrets.signing_key || ''"
CACHE_KEY = KEY.replace("signing_key", "cache_signing_key")
MERGING = ("push", "schedule", "workflow_dispatch", "release")
MERGED = f"contains(fromJSON('{json.dumps(MERGING, separators=(',', ':'))}'), github.event_name)"
PUSHED = {
    MODE: "read-write",
    TRUST: "",
    KEY: "",
    KEY.replace("signing_key", "signing_password"): "",
    CACHE_KEY: "",
    CACHE_KEY.replace("signing_key", "signing_password"): "",
}
"""What expressions are where nobody's pull request is built."""

SHELLS = {"bash": ["bash", "--noprofile", "--norc", "-eo", "pipefail"], None: ["bash", "-e"]}
"""As GitHub starts them."""

INSTALL = "install"
"""The step whose work a machine of tests has done already."""

VALUE = re.compile(r"\$\{\{ (.*?) \}\}")


def workflow(name: str) -> dict[Any, Any]:
    told: dict[Any, Any] = yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))
    return told


class Failed(AssertionError):
    """A step ended with this exit code."""

    def __init__(self, code: int, said: str) -> None:
        super().__init__(said)
        self.code = code


class Machine:
    """A fresh checkout on a machine that nobody has used before.

    `values` are those of the expressions that its jobs have; another one is a KeyError.
    """

    def __init__(self, repo: SmallRepo, root: Path, values: Mapping[str, str]) -> None:
        self.repo = repo.copy(root)
        self.values = {**PUSHED, **values}
        self.outputs, self.summary = root / "outputs.txt", root / "summary.md"
        self.outputs.touch()
        self.summary.touch()

    def run(self, name: str, job: str, env: Mapping[str, str] | None = None) -> str:
        """All steps of a job that are scripts; what they printed."""
        told = workflow(name)
        common = {**told.get("env", {}), **told["jobs"][job].get("env", {})}
        return self._steps(told["jobs"][job]["steps"], common, env or {})

    def use(self, inputs: Mapping[str, str]) -> str:
        """All steps of action.yml that are scripts, with these inputs; what they printed."""
        told = yaml.safe_load((REPO / "action.yml").read_text(encoding="utf-8"))
        unknown = inputs.keys() - told["inputs"].keys()
        assert not unknown, unknown
        for name, one in told["inputs"].items():
            self.values[f"inputs.{name}"] = inputs.get(name, one["default"])
        self.values[MERGED] = str(self.values["github.event_name"] in MERGING).lower()
        return self._steps(told["runs"]["steps"], {}, {"GITHUB_ACTION_PATH": str(REPO)})

    def _steps(
        self, steps: list[dict[str, Any]], common: Mapping[str, str], env: Mapping[str, str]
    ) -> str:
        own = [step for step in steps if "run" in step and step.get("name") != INSTALL]
        return "".join(self._step(step, common, env) for step in own)

    def _step(
        self, step: Mapping[str, Any], common: Mapping[str, str], more: Mapping[str, str]
    ) -> str:
        assert "${{" not in step["run"]  # values come by the environment only
        told = {**common, **step.get("env", {})}
        env = {
            name: VALUE.sub(lambda m: self.values[m[1]], str(text)) for name, text in told.items()
        }
        github = {"GITHUB_OUTPUT": str(self.outputs), "GITHUB_STEP_SUMMARY": str(self.summary)}
        path = f"{BIN}{os.pathsep}{self.repo.env['PATH']}"
        below = VALUE.sub(lambda m: self.values[m[1]], step.get("working-directory", "."))
        done = subprocess.run(
            [*SHELLS[step.get("shell")], "-c", step["run"]], cwd=self.repo.root / below, text=True,
            env={**self.repo.env, **github, "GITHUB_ACTIONS": "true", "PATH": path, **env, **more},
            capture_output=True, check=False, timeout=300,
        )  # fmt: skip
        if done.returncode:
            raise Failed(done.returncode, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def told(self) -> dict[str, Any]:
        """The job's outputs."""
        lines = (line.split("=", 1) for line in self.outputs.read_text().splitlines())
        return {name: json.loads(text) for name, text in lines}
