"""For which chip and by which SDK a bundle's binaries are, held against what its manifest says."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.formats.any_file import FileFacts, read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError

READ = (".bin", ".onnx", ".dlc")
CHIP = ("soc_model", "arch", "vtcm_mb")
Manifest = Mapping[str, Any]


@dataclass(kw_only=True)
class Contexts:
    """What the binaries of a bundle say themselves."""

    files: int = 0
    builds: set[str] = field(default_factory=set)
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_contexts(folder: Path, files: Container[str], manifest: Manifest) -> Contexts:
    """Reads each of `files` once that a graph's context is in.

    A form that is not known is noted only: its bytes are those of the manifest all the same.
    """
    told = Contexts()
    seen: set[str] = set()
    for stem, graph in _mapping(manifest.get("graphs")).items():
        context = _mapping(_mapping(graph).get("context"))
        for name in _mapping(context.get("files")):
            if name in seen or name not in files or not name.endswith(READ):
                continue
            seen.add(name)
            try:
                found = _contexts(read_any(folder / name))
            except FormatError as error:
                told.notes.append(f"{name} cannot be read here: {error}")
                continue
            told.files += bool(found)
            for one in found:
                told.builds |= {one.sdk_build} if one.sdk_build else set()
                told.problems += _wrong(name, stem, one, context, _rows(manifest.get("chips")))
    return told


def _contexts(facts: FileFacts) -> Sequence[ContextFacts]:
    if isinstance(facts, ContextFacts):
        return [facts]
    if isinstance(facts, DlcFacts):
        return facts.contexts
    if isinstance(facts, CtxOnnxFacts):
        embedded = [node.embedded for node in facts.nodes if node.embedded is not None]
        return [one for part in embedded for one in _contexts(part)]
    return []


def _wrong(
    name: str,
    stem: str,
    found: ContextFacts,
    context: Mapping[str, Any],
    chips: Sequence[Mapping[str, Any]],
) -> Iterator[Problem]:
    is_: dict[str, set[Any]] = {
        "soc_model": {found.soc_model or None},
        "arch": {found.arch},
        "vtcm_mb": {found.vtcm_mb} | _each_vtcm(found),
    }
    told = _rows(context.get("chips")) or [_mapping(context.get("chip"))]
    if not any(_fits(is_, one, CHIP) for one in told):
        facts = [(what, _differ(is_, told, what)) for what in CHIP if not _some(is_, told, what)]
        yield _bad(f"{name} is for another chip than manifest.json says of '{stem}'", facts)
    elif not any(_fits(is_, one, ("soc_model", "arch")) for one in chips):
        names = ", ".join(str(one.get("name")) for one in chips)
        facts = [("the binary", _chip(found)), ("the bundle is for", names)]
        yield _bad(f"{name} is for none of the bundle's chips", facts)
    build = context.get("sdk_build")
    if build and found.sdk_build and build != found.sdk_build:
        facts = [("manifest.json", str(build)), ("the binary", found.sdk_build)]
        yield _bad(f"{name} is by another SDK than manifest.json says of '{stem}'", facts)


def _each_vtcm(found: ContextFacts) -> set[float | None]:
    """Graphs in one binary have each their own."""
    return {int(size) / (1 << 20) for size in found.different.get("vtcm_size", ())}


def _fits(is_: Mapping[str, set[Any]], told: Mapping[str, Any], names: Sequence[str]) -> bool:
    """What one of the two does not say is not held against the other."""
    return all(is_[name] == {None} or told.get(name) in (None, 0, *is_[name]) for name in names)


def _some(is_: Mapping[str, set[Any]], told: Sequence[Mapping[str, Any]], name: str) -> bool:
    return any(_fits(is_, one, [name]) for one in told)


def _differ(is_: Mapping[str, set[Any]], told: Sequence[Mapping[str, Any]], name: str) -> str:
    says = ", ".join(str(one.get(name)) for one in told)
    found = ", ".join(str(one) for one in is_[name] if one is not None)
    return f"{found}, manifest.json says {says}"


def _chip(found: ContextFacts) -> str:
    return f"{found.soc_type or 'a chip'}, soc_model {found.soc_model}, HTP v{found.arch}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _rows(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


def _bad(message: str, facts: Sequence[tuple[str, str]]) -> Problem:
    return Problem(message=message, facts=tuple(facts))
