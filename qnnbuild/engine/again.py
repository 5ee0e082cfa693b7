"""An action's folder for people to look into, and the same run beside the store."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_json
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.guard import check
from qnnbuild.engine.runner import Runner
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.workers import FIXED_ENV

AGAIN = """\
#!{python}
# Does what the action does, here: in/ is taken, out/ is filled.
import json, sys
from pathlib import Path
sys.path[:] = {path!r}
from qnnbuild.work.run import Run, WorkError
request = json.loads(Path("request.json").read_text())
run = Run(params=request["params"],
          inputs={{name: Path("in", name) for name in request["inputs"]}},
          outputs={{name: Path("out", name) for name in request["outputs"]}})
module, _, function = request["call"].partition(":")
try:
    getattr(__import__(module, fromlist=[function]), function)(run)
except WorkError as error:
    sys.exit(f"error: {{error.message}}")
"""


def rebuild(builder: Builder, name: str) -> tuple[Mapping[str, Tree], Mapping[str, Tree]]:
    """Make a current action once more beside the store: what the store has, and what came now."""
    action = builder.plan[name]
    record = builder.record(name)
    with builder.store.private() as folder:
        beside = Store(folder / "store", Stats())
        check(action, builder.plan, builder.inputs.trust)
        runner = Runner(beside, builder.runner.workers, builder.runner.outside)
        made = runner.run(action, record.key, builder.stages(action))
    return record.outputs, made.outputs


def aside(builder: Builder, action: Action, output: str) -> dict[str, bytes]:
    """Do an action that is in no plan and keep nothing of it: the files of one output.

    It may take what actions of the plan made; these must be current.
    """
    with builder.store.private() as folder:
        beside = Store(folder / "store", Stats())
        check(action, builder.plan, builder.inputs.trust)
        runner = Runner(beside, builder.runner.workers, builder.runner.outside)
        key = digest_json({"aside": action.name, "params": action.params})
        made = runner.run(action, key, builder.stages(action))
        files = made.outputs[output].files
        return {name: beside.path(digest).read_bytes() for name, (digest, _) in files.items()}


def shell(builder: Builder, name: str, outside: Mapping[str, str]) -> int:
    """Open the user's shell in a private folder of the action; it is gone afterwards."""
    action = builder.plan[name]
    with builder.store.private() as folder:
        for kind in ("in", "out", "tmp"):
            (folder / kind).mkdir()
        for place, stage in builder.stages(action).items():
            (folder / "in" / place).mkdir()
            stage(folder / "in" / place)
        for place in action.outputs:
            (folder / "out" / place).mkdir()
        _write_again(action, folder)
        env = {**FIXED_ENV, **action.env, "PATH": outside.get("PATH", FIXED_ENV["PATH"])}
        for let in ("TERM", "HOME", "USER", "SHELL", "DISPLAY", *action.passes):
            if let in outside:
                env[let] = outside[let]
        return subprocess.run(
            [outside.get("SHELL", "/bin/sh")], cwd=folder, env={**env, "TMPDIR": "tmp"}, check=False
        ).returncode


def _write_again(action: Action, folder: Path) -> None:
    script = folder / "again"
    if action.call:
        path = [os.path.abspath(p or ".") for p in sys.path]
        script.write_text(AGAIN.format(python=sys.executable, path=path))
        request = {
            "call": action.call,
            "params": action.params,
            "inputs": list(action.inputs),
            "outputs": list(action.outputs),
        }
        (folder / "request.json").write_text(json.dumps(request, indent=2))
    else:
        script.write_text(f"#!/bin/sh\nexec {shlex.join(action.argv)}\n")
    script.chmod(0o755)
