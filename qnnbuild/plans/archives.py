"""Bundles as single files: what each is called, and what is wrong with the names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from qnnbuild.errors import Problem
from qnnbuild.model.archives import OPEN
from qnnbuild.model.recipe import ArchiveName, Graph, Target, Verify
from qnnbuild.model.sdks import is_sdk, published
from qnnbuild.plans.contexts import fails, folder_of
from qnnbuild.steps.export import has_more
from qnnbuild.toolchains.qairt_options import EXTENSIONS, HTP
from qnnbuild.toolchains.work import Toolchain

PLACE = "bundle.archives"
OF_CHIPS = (HTP, EXTENSIONS)
"""Options of the SDK that count when a context is compiled, and not before."""

KIND_WORDS = 1
"""Beside {chip} and {target}: "binary" of contexts, "so" of libraries."""


@dataclass(frozen=True, kw_only=True)
class Named:
    """One archive that is wanted, and the first target that wants it."""

    name: str
    written: str
    target: Target
    system: str = ""  # of libraries


def archive_name(said: ArchiveName, *, chip: str = "", system: str = "") -> str:
    """`system` as the SDK calls it."""
    return said.name.replace("{chip}", chip).replace("{target}", published(system))


def archive_problems(
    targets: Sequence[Target], toolchains: Mapping[str, Toolchain]
) -> Iterator[Problem]:
    """`targets` are those of all models: their archives lie side by side."""
    shipped = [t for t in targets if t.toolchain in toolchains and not fails(t)]
    for target in shipped:
        yield from _of_target(target, toolchains[target.toolchain])
    wanted: list[Named] = []
    for ours in _folders(shipped):
        yield from _one_of(ours, "context")
        wanted += _context(ours[0])
    for ours in _library_folders(shipped, toolchains):
        yield from _one_of(ours, "library")
        wanted += _libraries(ours[0], toolchains[ours[0].toolchain])
    yield from _alike(wanted)


def has_libraries(target: Target, toolchain: Toolchain) -> bool:
    return any(toolchain.libraries(graph) for graph in target.graphs)


def _of_target(target: Target, toolchain: Toolchain) -> Iterator[Problem]:
    bundle = target.bundle
    if bundle.sdk_libraries and not is_sdk(target.toolchain):
        yield Problem(
            message=f"the toolchain {target.toolchain} is no SDK whose libraries could go along",
            at=target.places.get("bundle.sdk_libraries"),
            hint="leave it out: apps get ONNX Runtime and its plugin as packages",
        )
    if bundle.library_archive and not has_libraries(target, toolchain):
        yield _problem(
            target,
            f"the toolchain {target.toolchain} makes no libraries that an archive could hold",
            "leave 'library' out",
        )
    if bundle.exported and not any(has_more(graph.source) for graph in target.graphs):
        yield Problem(
            message="the sources bring nothing but ONNX files",
            at=target.places.get("bundle.exported"),
            hint="source: {export: {also: …}} names what its command writes beside them",
        )
    yield from _two_names(target)
    if bundle.info and not (bundle.context_archive or bundle.library_archive):
        yield Problem(
            message="'info' is of archives, and there are none",
            at=target.places.get("bundle.info"),
            hint='bundle: {archives: {context: "name-{chip}"}}',
        )


def _two_names(target: Target) -> Iterator[Problem]:
    """Contexts and libraries of one variant are called alike, but for one word each."""
    said = target.bundle.context_archive, target.bundle.library_archive
    if said[0] is None or said[1] is None:
        return
    context, library = (one.written.split("-") for one in said if one is not None)
    only = [_words_beyond(context, library), _words_beyond(library, context)]
    filled = [[word for word in words if "{" in word] for words in only]
    if not any(filled) and all(len(words) <= KIND_WORDS for words in only):
        return
    shown = filled if any(filled) else only
    yield Problem(
        message="contexts and libraries of one variant would be called differently",
        at=target.places.get(PLACE) or target.places.get("bundle"),
        facts=(("context", " ".join(shown[0]) or "–"), ("library", " ".join(shown[1]) or "–")),
        hint="the same words in both, but for {chip}, {target} and a word for what each is",
        severity="error" if any(filled) else "warning",
    )


def _words_beyond(ours: Sequence[str], theirs: Sequence[str]) -> list[str]:
    left = list(theirs)
    beyond = []
    for word in ours:
        if word in left:
            left.remove(word)
        elif word not in OPEN.values():
            beyond.append(word)
    return beyond


def _folders(targets: Sequence[Target]) -> list[list[Target]]:
    """Targets by the bundle for chips that they ship in."""
    found: defaultdict[Hashable, list[Target]] = defaultdict(list)
    for target in targets:
        where: Hashable = folder_of(target)
        if target.group:
            where = (target.toolchain, target.variant, target.group)
        found[target.model, where].append(target)
    return list(found.values())


def _library_folders(
    targets: Sequence[Target], toolchains: Mapping[str, Toolchain]
) -> list[list[Target]]:
    """Targets by the libraries that they have in common: chips count where they divide these."""
    alike: defaultdict[Hashable, list[tuple[list[Graph], list[Target]]]] = defaultdict(list)
    for target in targets:
        if not target.bundle.library_archive:
            continue
        if not has_libraries(target, toolchains[target.toolchain]):
            continue
        graphs = [_but_chip(graph) for graph in target.graphs]
        known = alike[target.model, target.toolchain, target.variant]
        ours = next((some for same, some in known if same == graphs), None)
        if ours is None:
            known.append((graphs, [target]))
        else:
            ours.append(target)
    return [ours for known in alike.values() for _, ours in known]


def _but_chip(graph: Graph) -> Graph:
    """What of a graph reaches its library."""
    left = {
        name: {part: value for part, value in said.items() if part not in OF_CHIPS}
        for name, said in graph.options.items()
    }
    options = {name: said for name, said in left.items() if said}  # none is like no options
    return replace(
        graph,
        options=options,
        verify=Verify(),
        dumps=(),
        deadline_s=0,
        axes_used=(),
        source_axes=(),
        only_for=(),
    )


def _context(target: Target) -> Iterator[Named]:
    if said := target.bundle.context_archive:
        name = archive_name(said, chip=target.group or target.chip.name)
        yield Named(name=name, written=said.written, target=target)


def _libraries(target: Target, toolchain: Toolchain) -> Iterator[Named]:
    said = target.bundle.library_archive
    assert said is not None
    systems = dict.fromkeys(s for graph in target.graphs for s in toolchain.libraries(graph))
    for system in systems:
        name = archive_name(said, system=system)
        yield Named(name=name, written=said.written, target=target, system=system)


def _one_of(targets: Sequence[Target], kind: str) -> Iterator[Problem]:
    """Targets that ship together have one name and one info.txt."""
    first = targets[0]
    for other in targets[1:]:
        both = [t.bundle.context_archive for t in (first, other)]
        if kind == "library":
            both = [t.bundle.library_archive for t in (first, other)]
        if both[0] != both[1]:
            names = " and ".join(f"'{one.name}'" if one else "none" for one in both)
            lacks = f"leave {_braces(first, other)} out of it"
            yield _problem(first, f"one archive would have two names: {names}", lacks)
            return
        if any(both) and first.bundle.info != other.bundle.info:
            yield _problem(
                first,
                "one archive would have two info.txt files",
                f"leave {_braces(first, other)} out of 'info'",
            )
            return


def _alike(wanted: Sequence[Named]) -> Iterator[Problem]:
    """Names that are the same on some disk; once for each recipe."""
    taken: dict[str, Named] = {}
    told: set[tuple[str, str]] = set()
    for one in wanted:
        first = taken.setdefault(one.name.casefold(), one)
        if first is one or (one.target.recipe, one.written) in told:
            continue
        told.add((one.target.recipe, one.written))
        yield Problem(
            message=f"two archives would be called '{one.name}.tar.bz2'",
            at=one.target.places.get(PLACE) or one.target.places.get("bundle"),
            facts=(*_both(first, one), *_elsewhere(first, one)),
            hint=_way_out(first, one),
        )


def _way_out(first: Named, second: Named) -> str:
    if first.target.model != second.target.model:
        return "put {model} in, or another word"
    if first.system != second.system:
        if "" in (first.system, second.system):
            return "give contexts and libraries names of their own"
        return "the name lacks {target}"
    names = [*_differing(first.target, second.target)]
    lacking = [f"{{{name}}}" for name in names if f"{{{name}}}" not in second.written]
    if second.system and lacking == ["{chip}"]:
        return "only: gives these chips other libraries; let it give their archive a name, too"
    if not lacking:
        return "put a letter between the values that it is made of"
    return f"the name lacks {' and '.join(lacking)}"


def _braces(first: Target, second: Target) -> str:
    return " and ".join(f"{{{name}}}" for name in _differing(first, second))


def _differing(first: Target, second: Target) -> Iterator[str]:
    """The placeholders that tell two targets apart."""
    for name, value in first.axes.items():
        if second.axes.get(name) != value:
            yield name
    if (first.group or first.chip.name) != (second.group or second.chip.name):
        yield "chip"


def _both(first: Named, second: Named) -> tuple[tuple[str, str], ...]:
    told = [_told(first), _told(second)]
    if told[0] == told[1]:
        told = [
            f"{text} ({one.target.chip.name})"
            for text, one in zip(told, (first, second), strict=True)
        ]
    return ("first", told[0]), ("second", told[1])


def _elsewhere(first: Named, second: Named) -> tuple[tuple[str, str], ...]:
    """Where the first is written, when that is another recipe."""
    at = first.target.places.get(PLACE) or first.target.places.get("bundle")
    same = at is None or first.target.recipe == second.target.recipe
    return () if same else (("first is written at", str(at)),)


def _told(one: Named) -> str:
    target = one.target
    if one.system:
        parts = (target.model, target.variant, "libraries", published(one.system))
    else:
        parts = (target.model, target.variant, target.group or target.chip.name, "")
    return "/".join(part for part in parts if part)


def _problem(target: Target, message: str, hint: str) -> Problem:
    at = target.places.get(PLACE) or target.places.get("bundle")
    return Problem(message=message, at=at, hint=hint)
