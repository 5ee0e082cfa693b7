"""What a recipe says of its bundles: files that go along, and how they are called as archives."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.errors import Problem
from qnnbuild.model.paths import items_of, member_of, paths_of, unsafe_name
from qnnbuild.model.recipe import ArchiveName, BundleOptions
from qnnbuild.model.written import fill
from qnnbuild.text.nodes import Entry, MappingNode, Node, ScalarNode, with_entries

OPEN = {"chip": "{chip}", "target": "{target}"}
"""What stays in names and in info.txt until it is known which chips and systems there are."""

USUAL_SYSTEM = "aarch64-android"

NO_GRAPH = {"graph": "'source' and 'graphs'"}
NO_SYSTEM = {**NO_GRAPH, "target": "'bundle.archives.library'"}
NO_CHIP = {**NO_GRAPH, "chip": "'bundle.files' and 'bundle.archives.context'"}
NEITHER = {**NO_SYSTEM, **NO_CHIP}
"""Placeholders that have a value elsewhere only; libraries are for any chip."""


def filled_bundle(
    node: Node, values: Mapping[str, str], problems: list[Problem], said: Mapping[str, str]
) -> Node:
    """`bundle:` with its placeholders filled. `said` has {chip} and {target} of archives."""
    if not isinstance(node, MappingNode) or not node.braces:
        return node
    archives = node.mapping("archives")
    entries = dict(node.entries)
    for key, entry in node.entries.items():
        full = entry.value
        if key in {"files", "exported", "sdk_libraries"}:
            full = fill(entry.value, values, problems, NO_SYSTEM)
        elif key == "archives" and archives is not None:
            full = _filled_names(archives, values, problems, said)
        elif key == "info" and archives is not None and "library" in archives:
            full = fill(entry.value, _but_chip(values), problems, NEITHER)
        elif key == "info":
            known = {**values, "chip": said["chip"]}
            full = fill(entry.value, known, problems, NO_SYSTEM)
        entries[key] = Entry(entry.key, full)
    return with_entries(node, entries)


def bundle_options(
    node: MappingNode, values: Mapping[str, str], problems: list[Problem]
) -> BundleOptions:
    """Of a `bundle:` that the schema has no objection to."""
    full = filled_bundle(node, values, problems, OPEN)
    assert isinstance(full, MappingNode)
    info, archives = full.mapping("info"), full.mapping("archives")
    return BundleOptions(
        files=paths_of(full.get("files"), problems),
        exported=tuple(member_of(one, problems) for one in items_of(full.get("exported"))),
        info={key: _text(value) for key, value in info or ()},
        sdk_libraries=_systems(full.mapping("sdk_libraries")),
        context_archive=_name(archives, "context", problems),
        library_archive=_name(archives, "library", problems),
    )


def _filled_names(
    node: MappingNode, values: Mapping[str, str], problems: list[Problem], said: Mapping[str, str]
) -> MappingNode:
    known = {
        "context": ({**values, "chip": said["chip"]}, NO_SYSTEM),
        "library": ({**_but_chip(values), "target": said["target"]}, NO_CHIP),
    }
    entries = dict(node.entries)
    for kind, (mine, elsewhere) in known.items():
        if entry := node.entries.get(kind):
            entries[kind] = Entry(entry.key, fill(entry.value, mine, problems, elsewhere))
    return with_entries(node, entries)


def _but_chip(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != "chip"}


def _name(archives: MappingNode | None, kind: str, problems: list[Problem]) -> ArchiveName | None:
    node = archives.get(kind) if archives is not None else None
    if not isinstance(node, ScalarNode):
        return None
    if why := unsafe_name(node.value):
        problems.append(Problem(message=f"'{node.value}' {why}", at=node.span))
    written = node.written if node.written is not None else node.value
    return ArchiveName(name=node.value, written=written)


def _systems(node: MappingNode | None) -> tuple[str, ...]:
    """None where nobody says that they may be passed on."""
    if node is None or _text(node.get("redistribute")) != "true":
        return ()
    said = tuple(_text(one) for one in items_of(node.get("systems")))
    return tuple(dict.fromkeys(said)) or (USUAL_SYSTEM,)


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) else ""
