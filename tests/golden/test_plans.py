"""Small repos of recipes and what is planned for them: names, steps, needs, and all the values."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance, SourceFiles, SourceOnnx
from qnnbuild.actions.plan import Plan
from qnnbuild.digest import plain
from qnnbuild.session import open_session

PLANS = Path(__file__).parent / "plans"
REPOS = sorted(path for path in PLANS.iterdir() if path.is_dir())

WATCHED = """
import importlib.util, json, sys, sysconfig
from pathlib import Path

class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ImportError(f"planning may not import {name}")

REFUSED = {"onnx", "onnxruntime", "onnxruntime_qnn", "onnxsim", "numpy", "requests", "doit"}
sys.meta_path.insert(0, Refuse())
code = [str(Path(p).resolve()) for p in (*sys.path, sys.prefix, sys.base_prefix) if p]
seen = []

def watch(event, args):
    if event == "open":
        path, mode, flags = args
        if not isinstance(path, (str, bytes)):
            return
        path = path.decode() if isinstance(path, bytes) else path
        if flags & 3:  # for writing
            seen.append(f"writes {path}")
        elif Path(path).resolve().is_relative_to(root):
            seen.append(f"reads {Path(path).resolve().relative_to(root).as_posix()}")
        elif not any(str(Path(path).resolve()).startswith(c) for c in code):
            seen.append(f"reads {path}")
    elif event.startswith(("socket.", "subprocess.", "sqlite3.", "os.fork", "os.exec", "os.posix_",
                           "os.mkdir", "os.rename", "os.remove", "os.symlink", "os.link",
                           "shutil.", "tempfile.", "pty.", "os.system")):
        seen.append(event)

sys.dont_write_bytecode = True
root = Path("/nowhere")
sys.addaudithook(watch)
from qnnbuild.session import open_session
told = {}
for word in sys.argv[1:]:
    root = Path(word).resolve()
    assert len(open_session(root).plan)
    told[word] = [*seen]
    seen.clear()
sys.stdout.write(json.dumps(told))
"""


@pytest.mark.parametrize("repo", REPOS, ids=lambda repo: repo.name)
def test_a_plan_is_what_it_was(repo: Path, golden: Callable[[Path, str], None]) -> None:
    plan = open_session(repo).plan

    golden(repo / "plan.txt", listed(plan))
    golden(repo / "actions.json", detailed(plan))


@pytest.fixture(scope="module")
def watched() -> dict[str, list[str]]:
    """What planning each repo did beside computing; one process for all, in which nothing else is.

    Its first repo's share has what importing the code did.
    """
    done = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, REPOS)],
        cwd="/", capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told: dict[str, list[str]] = json.loads(done.stdout)
    return told


@pytest.mark.parametrize("repo", REPOS, ids=lambda repo: repo.name)
def test_planning_reads_recipes_and_does_nothing_else(
    repo: Path, watched: dict[str, list[str]]
) -> None:
    texts = [p for p in repo.rglob("*.y*ml") if p.is_file()]

    assert set(watched[str(repo)]) == {
        f"reads {path.relative_to(repo).as_posix()}" for path in texts
    }


def listed(plan: Plan) -> str:
    """A line for each action: name, step, and what it needs."""
    names = max(len(action.name) for action in plan)
    steps = max(len(action.step) for action in plan)
    lines = [
        f"{action.name:<{names}}  {action.step:<{steps}}  {', '.join(action.needs())}".rstrip()
        for action in plan
    ]
    return "\n".join(lines) + "\n"


def detailed(plan: Plan) -> str:
    """All values of each action, a line for each, so that a difference names what it is about."""
    blocks = []
    for action in plan:
        values = [f"    {json.dumps(k)}: {_json(v)}" for k, v in _values(action).items() if v]
        blocks.append(f"  {json.dumps(action.name)}: {{\n" + ",\n".join(values) + "\n  }")
    return "{\n" + ",\n".join(blocks) + "\n}\n"


def _values(action: Action) -> dict[str, Any]:
    return {
        "about": action.about,
        "does": action.call or list(action.argv),
        "params": plain(action.params),
        "inputs": {name: _input(source) for name, source in action.inputs.items()},
        "outputs": list(action.outputs),
        "tools": list(action.tools),
        "env": dict(action.env),
        "passes": list(action.passes),
        "deadline_s": action.deadline_s,
        "lands": action.lands,
        "group": action.group,
    }


def _input(source: Input) -> str | list[str]:
    match source:
        case OutputOf():
            return f"{source.output} of {source.action}"
        case SourceOnnx():
            return source.path
        case SourceFiles():
            return list(source.patterns)
        case Provenance():
            return "provenance"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
