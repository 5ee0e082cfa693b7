"""feeds: the user's Python file yields samples, in a process of its own.

With `requirements` it has an environment of its own too, else what is installed beside qnnbuild.
It sees its `needs`, below the folder of the file, and the axes that its function asks for by name.
`random`, numpy's and torch's global generators start from a fixed seed.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path, PurePosixPath
from typing import Any

from qnnbuild.work import feeds_program
from qnnbuild.work.commands import run_command
from qnnbuild.work.environments import surroundings
from qnnbuild.work.npz import read_npz, write_npz
from qnnbuild.work.run import Run, WorkError

PLACE = "samples.python"
SHOWN = 8


def user_feeds(run: Run) -> None:
    """Inputs "needs" (and "requirements") → output "feeds", one .npz a sample, not checked yet."""
    file = PurePosixPath(run.params["file"])
    work = Path("work")
    run.inputs["needs"].rename(work)
    made = Path("made").resolve()
    made.mkdir()
    base, env = surroundings(run, place=f"{PLACE}.requirements")
    python = str(base / "bin" / "python")
    if not Path(python).exists():
        python = sys.executable  # a system's Python may be called python3.11 only
    program = Path("feeds_program.py").resolve()
    shutil.copyfile(feeds_program.__file__, program)
    axes = json.dumps(dict(run.params["axes"]))
    at_most = str(run.params["at_most"] or 0)
    argv = [python, str(program), file.name, run.params["function"], axes, at_most, str(made)]
    ended = run_command(argv, env=env, folder=work / file.parent)
    said = made / feeds_program.SAID
    if said.exists():
        raise _told(run, json.loads(said.read_text(encoding="utf-8")))
    if ended.code != 0:
        raise WorkError(
            f"'{file}' ended with {ended.how}",
            place=PLACE,
            facts=[("says", line) for line in ended.last_lines[-SHOWN:]],
            hint="its whole output is in the log",
        )
    _take(run, made)


def _told(run: Run, said: dict[str, Any]) -> WorkError:
    facts = [("file", run.params["file"])]
    return WorkError(said["message"], place=PLACE, facts=facts, hint=said["hint"])


def _take(run: Run, made: Path) -> None:
    """Write the samples anew, as the same bytes whatever numpy the environment has."""
    files = sorted(made.glob("*.npz"))
    if not files:
        raise WorkError(
            f"{run.params['function']}() of '{run.params['file']}' yields no sample",
            place=PLACE,
            exit_code=2,
        )
    for file in files:
        write_npz(run.outputs["feeds"] / file.name, read_npz(file))
        file.unlink()
