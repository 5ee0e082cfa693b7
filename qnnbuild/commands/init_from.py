"""qnnbuild init --from MODEL.onnx: looks at it and writes the recipe that builds."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from qnnbuild.commands.chips_meant import chips_meant
from qnnbuild.commands.starter import starter_files
from qnnbuild.engine.new_files import copy_new, refuse_existing, write_new
from qnnbuild.errors import NothingMatches, RecipeError
from qnnbuild.importing.described import (
    DescribedGraph,
    DescribedModel,
    braces_doubled,
    plain_name,
    safe_name,
)
from qnnbuild.importing.onnx_graph import described
from qnnbuild.importing.onnx_look import Looked, check_kept, look
from qnnbuild.importing.sizes import Ask, Sizes, check_used
from qnnbuild.model.recipe import Chip
from qnnbuild.repo import find_root, open_chips
from qnnbuild.session import open_session

NO_NAMES = ("model", "graph", "network", "onnx", "main")
"""Stems that say nothing of a model: then it is called after its folder."""

COPIES = "onnx"
"""The folder of a repo into which files from outside are copied."""

SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A graph of the recipe: what was seen, and where its file is for the recipe."""

    name: str
    looked: Looked
    source: str  # relative to the repo's root
    copies: dict[Path, Path]  # target → source


def init_from(args: Namespace) -> int:
    """Write the recipe, and all around it where there is no repo yet. Prints what was found."""
    files = [_onnx(word) for word in args.models]
    root, is_new = _root(args.folder)
    chips, patterns = chips_meant(args.chips, open_chips(None if is_new else root))
    sizes = Sizes(shapes=_shapes(args.shape), dims=_dims(args.dim), ask=_asks(args))
    archs = sorted({chip.arch for chip in chips})
    looks = [look(file, sizes, archs, args.output) for file in files]
    check_used(sizes, *_known(looks))
    check_kept(args.output, looks)
    name = safe_name(args.name or _model_name(files[0]))
    recipe = root / "recipes" / f"{name}.yaml"
    taken = [
        _taken(root, looked, graph)
        for looked, graph in zip(looks, _graph_names(files, name), strict=True)
    ]
    model = DescribedModel(
        name=name, chips=patterns, graphs=[_described(one, recipe, root, chips) for one in taken]
    )
    new = {**(starter_files(root, example=False) if is_new else {}), recipe: model.text()}
    copies = {target: file for one in taken for target, file in one.copies.items()}
    refuse_existing([*new, *copies])
    copy_new(copies)
    write_new(new)
    session = open_session(root, files=[str(recipe)])  # it says so if the recipe has a mistake
    _tell(taken, recipe, is_new=is_new, targets=len(session.targets))
    return 0


def _onnx(word: str) -> Path:
    file = Path(word)
    if file.is_dir():
        found = sorted(file.glob("*.onnx"))
        hint = f"--from {found[0]}" if found else "name an ONNX file"
        raise NothingMatches(f"{word} is a folder, no ONNX file", hint=hint)
    if not file.is_file():
        near = sorted(file.parent.glob("*.onnx")) if file.parent.is_dir() else []
        told = ", ".join(path.name for path in near[:SHOWN])
        raise NothingMatches(
            f"no such file: {word}", hint=f"ONNX files there: {told}" if told else None
        )
    return file


def _root(folder: Path | None) -> tuple[Path, bool]:
    """The repo, and whether it has to be made."""
    here = (folder or Path()).resolve()
    try:
        return find_root(here), False
    except NothingMatches:
        return here, True


def _asks(args: Namespace) -> Ask | None:
    if args.yes or not (sys.stdin.isatty() and sys.stderr.isatty()):
        return None
    return _ask


def _ask(question: str, guess: int) -> int:
    """Until a whole number above 0 is said; just Enter takes the guess."""
    while True:
        print(f"{question} [{guess}]: ", end="", file=sys.stderr, flush=True)
        said = sys.stdin.readline()
        if not said.strip():
            return guess
        if said.strip().isdecimal() and int(said) > 0:
            return int(said)
        print("a whole number above 0, please", file=sys.stderr)


def _shapes(words: Iterable[str]) -> dict[str, tuple[int, ...]]:
    return {
        name: tuple(_whole("--shape", size) for size in sizes.strip("[]").split(",") if size)
        for name, sizes in _pairs("--shape", words, "x=1,3,224,224")
    }


def _dims(words: Iterable[str]) -> dict[str, int]:
    return {name: _whole("--dim", size) for name, size in _pairs("--dim", words, "seq=128")}


def _pairs(option: str, words: Iterable[str], example: str) -> list[tuple[str, str]]:
    """name=value; a name may have = in it, a value has none."""
    pairs = []
    for word in words:
        name, equals, value = word.rpartition("=")
        if not equals or not name:
            raise RecipeError(f"{option} {word}: there is no '='", hint=f"{option} {example}")
        pairs.append((name, value))
    return pairs


def _whole(option: str, text: str) -> int:
    if not text.strip().isdecimal() or not 0 < int(text) < 1 << 31:
        raise RecipeError(f"{option}: '{text}' is no size", hint="whole numbers above 0")
    return int(text)


def _known(looks: Sequence[Looked]) -> tuple[list[str], list[str]]:
    inputs = [one.name for looked in looks for one in looked.inputs]
    return inputs, [symbol for looked in looks for symbol in looked.symbols]


def _model_name(file: Path) -> str:
    stem = file.stem
    return file.resolve().parent.name if stem.lower() in NO_NAMES else stem


def _graph_names(files: Sequence[Path], model: str) -> list[str]:
    """Of one graph the model's name; of several those of their files, each once."""
    if len(files) == 1:
        return [plain_name(model)]
    names: list[str] = []
    for file in files:
        stem = plain_name(file.stem)
        if stem in names:
            stem = plain_name(f"{file.resolve().parent.name}_{file.stem}")
        if stem in names:
            raise RecipeError(
                f"two graphs would be called '{stem}'",
                facts=[("file", str(file))],
                hint="give the ONNX files different names",
            )
        names.append(stem)
    return names


def _taken(root: Path, looked: Looked, graph: str) -> Taken:
    """By reference where the file lies in the repo; what lies elsewhere is copied."""
    file = Path(os.path.normpath(looked.file.absolute()))  # a link in the repo stays one
    inside = file.is_relative_to(root)
    inner = file.relative_to(root).as_posix() if inside else ""
    if inside and "\\" not in inner and not set(inner) & set("*?[\n"):
        return Taken(name=graph, looked=looked, source=inner, copies={})
    # side files keep the names that the ONNX file has for them, so each model gets a folder
    to = root / COPIES / graph if looked.side_files else root / COPIES
    target = to / f"{graph}.onnx"
    copies = {target: file, **{to / side: file.parent / side for side in looked.side_files}}
    source = target.relative_to(root).as_posix()
    return Taken(name=graph, looked=looked, source=source, copies=copies)


def _described(one: Taken, recipe: Path, root: Path, chips: Sequence[Chip]) -> DescribedGraph:
    path = os.path.relpath(root / one.source, recipe.parent)
    return described(one.looked, one.name, braces_doubled(path), chips)


def _tell(taken: Sequence[Taken], recipe: Path, *, is_new: bool, targets: int) -> None:
    for one in taken:
        for target, source in one.copies.items():
            print(f"copied {source} to {_here(target)}", file=sys.stderr)
        print("\n".join(_found(one)))
    some = "1 target" if targets == 1 else f"{targets} targets"
    made = " and all that doit needs around it" if is_new else ""
    print(f"wrote {_here(recipe)}{made}: {some}", file=sys.stderr)
    root = recipe.parent.parent
    cd = "" if root == Path.cwd() else f"cd {_here(root)} && "
    print(f"now: {cd}doit {recipe.stem}", file=sys.stderr)


def _here(path: Path) -> str:
    return os.path.relpath(path)


def _found(one: Taken) -> Iterable[str]:
    """What a user has to know of the graph, a line each."""
    looked = one.looked
    sizes = [
        f"{given.name} {list(given.settled.shape)}: {'; '.join(given.settled.guessed)}"
        for given in looked.inputs
        if given.settled and given.settled.guessed
    ]
    yield f"{one.name}: " + (
        "all nodes can run on the NPU"
        if not looked.left
        else f"{len(looked.left)} node{'' if len(looked.left) == 1 else 's'} for the CPU"
    )
    yield from (f"  guessed     {line}" for line in sizes)
    for given in looked.inputs:
        if given.becomes:
            yield f"  narrower    input {given.name}: {given.dtype} becomes {given.becomes}"
    for name, becomes in looked.outputs:
        if becomes:
            yield f"  narrower    output {name} becomes {becomes}"
    if looked.doubles:
        yield "  narrower    float64 becomes float32 inside"
    if looked.beyond_fp16:
        yield f"  not fp16    {looked.beyond_fp16}"
    for node in looked.left[:SHOWN]:
        where = f" (HTP {', '.join(f'v{arch}' for arch in node.archs)})" if node.archs else ""
        yield f"  on the CPU  {node.node} ({node.operator}){where}: {node.why}"
    if len(looked.left) > SHOWN:
        yield f"  and {len(looked.left) - SHOWN} more"
    for wrong in looked.wrong[:SHOWN]:
        yield f"  wrong       {wrong.node}: {wrong.what}, in float; {wrong.mend}"
    yield from (f"  note        {note}" for note in looked.notes)
