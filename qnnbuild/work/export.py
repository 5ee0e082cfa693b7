"""The code of export actions: the user's command in its own folder and environment.

With `requirements` the command runs in an environment that has the listed packages and nothing
else. Without, it runs with qnnbuild's own Python and whatever is installed beside qnnbuild; then
the names and versions of all those packages are in the key, so that an upgrade runs it again.

Only PATH (the environment, /usr/bin, /bin), LANG, HOME and TMPDIR (empty folders of this run) and
a fixed hash seed are set. What the command takes from /usr/bin is in no key.
"""

from __future__ import annotations

import difflib
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from onnx import ModelProto

from qnnbuild.work.commands import Ended, run_command
from qnnbuild.work.environments import surroundings
from qnnbuild.work.onnx_files import check_side_files, read, side_files
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import graphs

PYTHONS = ("python", "python3")
ALSO = "_also"
"""The output with what the recipe asks for beside ONNX files."""

SHOWN = 12


def export(run: Run) -> None:
    """Run the command; each output gets its promised ONNX file, and the side files of that."""
    work = Path("work")
    if "needs" in run.inputs:
        run.inputs["needs"].rename(work)
    folder = work / run.params["folder"]
    folder.mkdir(parents=True, exist_ok=True)
    before = _files(folder)
    base, env = surroundings(run)
    _run_command(run.params["run"], env, folder)
    makes: Mapping[str, str] = run.params["makes"]
    _need_all(folder, list(makes.values()), before)
    for output, made in makes.items():
        _collect(
            run, folder / made, made, run.outputs[output], [Path.cwd(), base / "lib" / "python"]
        )
    for pattern in run.params.get("also", ()):
        _collect_also(folder, pattern, run.outputs[ALSO], before)


def _run_command(argv: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
    bin_folder = env["PATH"].partition(":")[0]
    program = argv[0]
    if (folder / program).is_file():
        (folder / program).chmod(0o755)  # copies of the repo's files are data; this one is to run
    if program in PYTHONS and not shutil.which(program, path=bin_folder):
        program = sys.executable  # a system's Python may be called python3.11 only
    try:
        ended = run_command([program, *argv[1:]], env=env, folder=folder)
    except (FileNotFoundError, PermissionError) as error:
        raise WorkError(
            f"the export command cannot start: {error.strerror}: '{argv[0]}'",
            facts=[("command", shlex.join(argv))],
            hint="it is looked for in the export's environment and in /usr/bin; "
            "a script of the repo must be in `needs`",
        ) from error
    if ended.code != 0:
        raise _failed(argv, ended)


def _failed(argv: Sequence[str], ended: Ended) -> WorkError:
    said = "\n".join(ended.last_lines)
    hint = "its whole output is in the log"
    if "ModuleNotFoundError" in said or "No module named" in said:
        hint = "name the packages that it imports in `requirements`, with their versions"
    elif "No such file" in said or "can't open file" in said:
        hint = "the command sees only the files in `needs`, below the recipe's folder"
    return WorkError(
        f"the export command ended with {ended.how}",
        facts=[
            ("command", shlex.join(argv)),
            *(("says", line) for line in ended.last_lines[-SHOWN:]),
        ],
        hint=hint,
    )


def _files(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}


def _need_all(folder: Path, makes: Sequence[str], before: set[str]) -> None:
    missing = [name for name in makes if not (folder / name).is_file()]
    if not missing:
        return
    made = sorted(_files(folder) - before)
    names = {Path(name).name: name for name in made}
    near = difflib.get_close_matches(missing[0], made, n=1, cutoff=0.5) or [
        names[name] for name in difflib.get_close_matches(Path(missing[0]).name, names, n=1)
    ]
    raise WorkError(
        f"the export command did not make {' and '.join(repr(name) for name in missing)}",
        place="source.makes",
        facts=[("made", name) for name in made[:SHOWN]] or [("made", "nothing")],
        hint=f"did you mean '{near[0]}'?" if near else None,
    )


def _collect_also(folder: Path, pattern: str, out: Path, before: set[str]) -> None:
    made = sorted(_files(folder) - before)
    found = [path.relative_to(folder).as_posix() for path in folder.glob(pattern)]
    files = [name for name in found if (folder / name).is_file()]
    if not files:
        raise WorkError(
            f"the export command made nothing for '{pattern}'",
            place="source.also",
            facts=[("made", name) for name in made[:SHOWN]] or [("made", "nothing")],
        )
    for name in files:
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(folder / name, out / name)


def _collect(run: Run, path: Path, shown: str, out: Path, machine: Sequence[Path]) -> None:
    model = read(path, shown=shown)
    check_side_files(model, path.parent)
    for name in side_files(model):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path.parent / name, out / name)
    data = path.read_bytes()
    folders = [str(folder) for folder in machine]  # as beginnings of longer paths
    if any(folder.encode() in data for folder in folders):
        _forget(model, folders)
        data = model.SerializeToString(deterministic=True)
    if any(folder.encode() in data for folder in folders):
        run.warn(f"'{shown}' names a folder of this machine: another one will make other bytes")
    (out / "model.onnx").write_bytes(data)


def _forget(model: ModelProto, folders: Sequence[str]) -> None:
    """Drop remarks that name a folder of this machine: exporters note which line made a node.

    Remarks only: doc strings and metadata, of which no computation knows.
    """
    noted = [model, *model.functions, *(n for f in model.functions for n in f.node)]
    for graph in graphs(model):
        noted += [graph, *graph.node, *graph.input, *graph.output, *graph.value_info]
        noted += graph.initializer
    for item in noted:
        if any(folder in item.doc_string for folder in folders):
            item.ClearField("doc_string")
        kept = [p for p in item.metadata_props if not any(f in p.value for f in folders)]
        if len(kept) != len(item.metadata_props):
            del item.metadata_props[:]
            item.metadata_props.extend(kept)
