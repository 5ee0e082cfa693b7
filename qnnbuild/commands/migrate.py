"""qnnbuild migrate FILE…: scripts and settings of other tools become recipes.

Nothing of them is run. What could not be carried over is told line by line.
"""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path

from qnnbuild.commands.chips_meant import USUAL, chips_meant
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.commands.starter import starter_files
from qnnbuild.engine.new_files import write_new
from qnnbuild.errors import NothingMatches, RecipeError
from qnnbuild.importing.at_hand import Folder
from qnnbuild.importing.carried import CARRIED, Place, Row, left
from qnnbuild.importing.described import DescribedModel, safe_name
from qnnbuild.importing.scripts import Given
from qnnbuild.importing.sources import Source, described, source_of
from qnnbuild.importing.tool_calls import USUAL_VERSION
from qnnbuild.model.sdks import is_sdk
from qnnbuild.model.settings import SETTINGS_FILE
from qnnbuild.repo import find_root, open_chips, open_toolchains
from qnnbuild.session import Session, open_session
from qnnbuild.text.render import as_json, terminal

MOST_BYTES = 4 << 20
MOST_LETTERS = 70  # of a cell of the table
TOOLCHAINS = """
# Where Qualcomm's SDK is; qnnbuild doctor tells what of it is missing.
toolchains:
"""
TOOLCHAIN = """\
  {name}:
    root: ${{QNN_SDK_ROOT}}
    python: ${{QNN_PYTHON}}
    ndk: ${{ANDROID_NDK_ROOT}}
"""


def arguments(parser: ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        nargs="+",
        metavar="FILE",
        help="shell scripts of the SDK's tools, workflows of GitHub, or settings of Olive (JSON)",
    )
    add("--to", type=Path, default=Path(), help="the repo that gets the recipes; made when new")
    add("--name", help="one model of all the files; without it each file is a model of its name")
    add(
        "--set",
        action="append",
        default=[],
        metavar="NAME=WORD,…",
        help="what a variable of a script is; several words are a loop over it",
    )
    add("--chips", action="append", default=[], help="chips, as qnnbuild init takes them")
    add("--json", action="store_true", help="what became of each word as data")


def run(args: Namespace) -> int:
    root, is_new = _root(args.to)
    chips = open_chips(None if is_new else root)
    wanted = chips_meant(args.chips, chips)[1] if args.chips else []
    values = _values(args.set)
    models: list[DescribedModel] = []
    rows: list[Row] = []
    versions: list[str] = []
    for name, files in _grouped(args.files, args.name):
        folder = Folder(root / "recipes", files[0].parent)
        given = Given(
            chips=chips,
            values=values,
            wanted=wanted,
            locate=folder.locate,
            find=folder.find,
            shapes=folder.shapes,
        )
        model, told, version = described(name, [_source(file) for file in files], given, USUAL)
        rows += told
        if model is not None:
            models.append(model)
            versions.append(version)
    declared = [] if is_new else [name for name in open_toolchains(root) if is_sdk(name)]
    _give_toolchains(models, versions, rows, declared, is_new=is_new)
    return _write(args, root, models, rows, is_new=is_new)


def _root(folder: Path) -> tuple[Path, bool]:
    here = folder.resolve()
    try:
        return find_root(here), False
    except NothingMatches:
        return here, True


def _grouped(files: Sequence[str], name: str | None) -> Iterable[tuple[str, list[Path]]]:
    """A model's name, and its files."""
    paths = [Path(file) for file in files]
    if name is not None:
        return [(safe_name(name), paths)]
    return [(safe_name(path.stem), [path]) for path in paths]


def _source(file: Path) -> Source:
    if not file.is_file():
        what = "a folder, no script" if file.is_dir() else "no such file"
        raise NothingMatches(f"{file}: {what}", hint="name the file that calls the SDK's tools")
    if (size := file.stat().st_size) > MOST_BYTES:
        raise RecipeError(f"{file} has {size} bytes, which no script has")
    return source_of(str(file), file.read_bytes())


def _values(words: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals or not name:
            raise RecipeError(f"--set {word}: there is no '='", hint="--set t=5,8,10")
        found[name] = tuple(part for part in value.split(",") if part)
    return found


def _give_toolchains(
    models: Sequence[DescribedModel],
    versions: Sequence[str],
    rows: list[Row],
    declared: Sequence[str],
    *,
    is_new: bool,
) -> None:
    """What calls the SDK is for a version: that of the script, of the repo, or a usual one."""
    for model, version in zip(models, versions, strict=True):
        if model.toolchain is not None:
            continue
        usual = next(iter(declared), f"qairt-{USUAL_VERSION}")
        model.toolchain = f"qairt-{version}" if version else usual
        if not version:
            why = f"nothing tells it: {usual} is taken"
            rows.append(left(_first(rows), "the SDK's version", why, "toolchain: says another"))
        if not is_new and model.toolchain not in declared:
            what = f"{{{model.toolchain}: {{root: '${{QNN_SDK_ROOT}}'}}}}"
            todo = f"toolchains: {what} in {SETTINGS_FILE}"
            rows.append(left(_first(rows), model.toolchain, "the repo declares no such SDK", todo))


def _first(rows: Sequence[Row]) -> Place:
    return min((row.at for row in rows), default=Place("", 0))


def _write(
    args: Namespace,
    root: Path,
    models: Sequence[DescribedModel],
    rows: Sequence[Row],
    *,
    is_new: bool,
) -> int:
    if not models:
        facts = [(str(row.at), f"{row.what}: {row.became}") for row in rows[:8]]
        raise RecipeError(
            "no call of qnn-onnx-converter and no model of Olive were found",
            facts=[("looked into", ", ".join(args.files)), *facts],
            hint="name the file that calls the converter; --set fills variables that it is made of",
        )
    recipes = {root / "recipes" / f"{model.name}.yaml": model.text() for model in models}
    new = _around(root, models) if is_new else {}
    write_new({**new, **recipes})
    session = open_session(root, files=[str(path) for path in recipes], bad_left_out=True)
    _tell(args, [*recipes], rows, session)
    return RecipeError.exit_code if any(p.severity == "error" for p in session.problems) else 0


def _around(root: Path, models: Sequence[DescribedModel]) -> dict[Path, str]:
    files = starter_files(root, example=False)
    sdks = sorted({m.toolchain for m in models if m.toolchain and is_sdk(m.toolchain)})
    if sdks:
        files[root / SETTINGS_FILE] += TOOLCHAINS + "".join(TOOLCHAIN.format(name=n) for n in sdks)
    return files


def _clipped(text: str) -> str:
    """--json has all of it."""
    line = " ".join(text.split())
    return line if len(line) <= MOST_LETTERS else f"{line[: MOST_LETTERS - 1]}…"


def _tell(args: Namespace, recipes: Sequence[Path], rows: Sequence[Row], session: Session) -> None:
    rows = sorted(dict.fromkeys(rows), key=lambda row: (row.at, row.state))
    if args.json:
        print_json(
            {
                "recipes": [os.path.relpath(path) for path in recipes],
                "targets": len(session.targets),
                "rows": [dict(row.as_json()) for row in rows],
                "problems": as_json(session.problems),
            }
        )
        return
    kept = [(str(row.at), _clipped(row.what), row.became) for row in rows if row.state == CARRIED]
    if kept:
        print_rows(kept, ("carried over", "was", "is"))
    lost = [row for row in rows if row.state != CARRIED]
    if kept and lost:
        print()
    if lost:
        cells = [(str(row.at), _clipped(row.what), row.became, row.todo) for row in lost]
        print_rows(cells, ("left out", "was", "why", "what to do"))
    sys.stderr.write(terminal(session.problems))
    some = f"{len(kept)} carried over, {len(lost)} left out"
    written = ", ".join(os.path.relpath(path) for path in recipes)
    targets = f"{len(session.targets)} target{'' if len(session.targets) == 1 else 's'}"
    print(f"wrote {written}: {targets}; {some}", file=sys.stderr)
