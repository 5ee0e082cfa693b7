"""qnnbuild strip FILE: a binary for several chips, made smaller for fewer of them."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path

from qnnbuild.commands.inspect import size_text
from qnnbuild.errors import NotGood, NothingMatches, RecipeError
from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.model.chips import Chips
from qnnbuild.model.patterns import select
from qnnbuild.model.recipe import Chip
from qnnbuild.repo import open_chips
from qnnbuild.work.multi_chip_files import strip_binary, strip_ctx_onnx


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="a ctx.onnx with its binary beside it, or a binary"
    )
    parser.add_argument(
        "--chips", metavar="CHIPS", help="part numbers or selectors, with commas: SM8750,@phones"
    )
    parser.add_argument("--each", action="store_true", help="one folder for each of the chips")
    parser.add_argument("-o", "--into", type=Path, required=True, metavar="DIR", help="where to")


def run(args: Namespace) -> int:
    inside = _inside(args.file)
    chips = open_chips()
    wanted = _wanted(args.chips, chips, inside)
    groups = [(args.into / chip.name, [chip]) for chip in wanted] if args.each else []
    for folder, some in groups or [(args.into, wanted)]:
        if folder.resolve() == args.file.parent.resolve():
            raise RecipeError(f"'{folder}' holds the file itself", hint="another folder for -o")
        folder.mkdir(parents=True, exist_ok=True)
        _strip(args.file, some, folder)
    return 0


def _inside(path: Path) -> tuple[int, ...]:
    """soc_models of the chips that the file is for."""
    if not path.is_file():
        raise NothingMatches(f"{path}: no such file")
    try:
        facts = read_any(path)
        if isinstance(facts, CtxOnnxFacts):
            multi = [node for node in facts.nodes if node.multi_chip]
            found = facts.soc_models if multi else ()
        else:
            contexts = facts.contexts if isinstance(facts, DlcFacts) else ()
            found = tuple(context.soc_model or 0 for context in contexts)
    except FormatError as error:
        raise NotGood(f"{path}: {error}") from None
    if not found:
        raise RecipeError(
            f"{path} is not for several chips", hint=f"what it is: qnnbuild inspect {path}"
        )
    return found


def _wanted(said: str | None, chips: Chips, inside: Sequence[int]) -> list[Chip]:
    """The chips that were named, or one part number for each context of the file."""
    there = [chip for chip in chips if chip.soc_model in inside]
    if said is None:
        return list({chip.soc_model: chip for chip in reversed(there)}.values())[::-1]
    words = [word.strip() for word in said.split(",") if word.strip()]
    wanted = list(select([(word, None) for word in words], chips))
    missing = [chip.name for chip in wanted if chip.soc_model not in inside]
    if missing or not wanted:
        names = ", ".join(chip.name for chip in there)
        raise NothingMatches(
            f"it holds nothing for {', '.join(missing) or said}", hint=f"it is for {names}"
        )
    return wanted


def _strip(path: Path, chips: Sequence[Chip], folder: Path) -> None:
    keep = {chip.soc_model for chip in chips}
    strip = strip_ctx_onnx if path.suffix == ".onnx" else strip_binary
    try:
        made = strip(path, keep, folder)
    except FormatError as error:
        raise NotGood(f"{path}: {error}") from None
    before = sum((path.parent / one.name).stat().st_size for one in made)
    after = sum(one.stat().st_size for one in made)
    names = ", ".join(chip.name for chip in chips)
    for one in made:
        print(one)
    print(f"for {names}: {size_text(after)} of {size_text(before)}", file=sys.stderr)
