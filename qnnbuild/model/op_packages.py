"""`op_packages:` of a graph: operators of the user's own, and the libraries that know them."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence

from qnnbuild.errors import Problem, Span
from qnnbuild.model.paths import path_of, paths_of
from qnnbuild.model.recipe import MeasuredBy, OpPackage
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

KEY = "op_packages"
PATHS = ("library", "xml", "converter")


def op_packages_of(node: Node | None, problems: list[Problem]) -> tuple[OpPackage, ...]:
    """The packages of a list that the schema has accepted."""
    items = _items(node)
    problems.extend(_twice(items))
    return tuple(_package(item, problems) for item in items)


def op_package_places(node: Node | None) -> Mapping[str, Span]:
    """Where each package stands, by its operator: "op_packages.MyAdd.library"."""
    places: dict[str, Span] = {}
    for item in _items(node):
        above = f"{KEY}.{_text(item, 'op')}"
        places[above] = item.entries["op"].value.span
        for name, entry in item.entries.items():
            places[f"{above}.{name}"] = entry.value.span
            if isinstance(entry.value, MappingNode):
                for inner, one in entry.value.entries.items():
                    places[f"{above}.{name}.{inner}"] = one.value.span
    return places


def _package(item: MappingNode, problems: list[Problem]) -> OpPackage:
    paths = {key: path_of(item.get(key), problems) for key in PATHS if key in item}
    device = item.mapping("on_device")
    package = OpPackage(
        op=_text(item, "op"),
        interface=_text(item, "interface"),
        library=paths.get("library"),
        xml=paths.get("xml"),
        on_device={
            target: path_of(entry.value, problems)
            for target, entry in (device.entries.items() if device else ())
        },
        sources=paths_of(item.get("sources"), problems),
        converter=paths.get("converter"),
        measured_by=_measured_by(item.mapping("measured_by"), problems),
        built_with=_text(item, "built_with") or None,
    )
    problems.extend(_unsayable(package, item))
    return package


def _measured_by(node: MappingNode | None, problems: list[Problem]) -> MeasuredBy | None:
    if node is None:
        return None
    return MeasuredBy(
        interface=_text(node, "interface"),
        library=path_of(node.get("library"), problems) if "library" in node else None,
        xml=path_of(node.get("xml"), problems) if "xml" in node else None,
        sources=paths_of(node.get("sources"), problems),
    )


def _unsayable(package: OpPackage, item: MappingNode) -> Iterator[Problem]:
    """Plugin and SDK take all packages in one text, with : and , between its parts."""
    files = [package.library, *package.on_device.values()]
    files += [package.xml] if package.sources else []  # the library is called after it
    names = [posixpath.basename(file) for file in files if file]
    # these lie where the repo has them
    measures = package.measured_by
    names += [f for f in (package.converter, measures and measures.library) if f]
    for name in names:
        if set(name) & set(":,*?[]"):
            yield Problem(
                message=f"'{name}' cannot be the name of a package's library",
                at=item.span,
                hint="it must be one file, without any of : , * ? [ ]",
            )


def _twice(items: Sequence[MappingNode]) -> Iterator[Problem]:
    first: dict[str, MappingNode] = {}
    for item in items:
        op = _text(item, "op")
        if first.setdefault(op, item) is not item:
            yield Problem(
                message=f"the operator '{op}' has two packages",
                at=item.entries["op"].value.span,
                facts=(("first", str(first[op].entries["op"].value.span)),),
            )


def _items(node: Node | None) -> list[MappingNode]:
    items = node.items if isinstance(node, ListNode) else ()
    return [item for item in items if isinstance(item, MappingNode)]


def _text(item: MappingNode, key: str) -> str:
    value = item.get(key)
    return value.value if isinstance(value, ScalarNode) else ""
