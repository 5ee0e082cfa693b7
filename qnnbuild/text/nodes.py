"""A YAML file as a tree whose every part knows its place. Scalars stay the text as written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qnnbuild.errors import Span

EMPTY_WORDS = frozenset({"", "~", "null", "Null", "NULL"})


@dataclass(frozen=True, slots=True)
class ScalarNode:
    value: str
    span: Span
    quoted: bool = False
    written: str | None = None  # the text before its placeholders were filled

    @property
    def empty(self) -> bool:
        """Nothing was written, or one of YAML's words for nothing."""
        return self.value in EMPTY_WORDS and not self.quoted and self.written is None

    @property
    def braces(self) -> bool:
        return "{" in self.value or "}" in self.value

    @property
    def size(self) -> int:
        return 1

    @property
    def height(self) -> int:
        return 1


@dataclass(frozen=True, slots=True)
class ListNode:
    items: tuple[Node, ...]
    span: Span
    braces: bool  # a placeholder may stand somewhere inside
    size: int  # nodes, with every alias unfolded
    height: int


@dataclass(frozen=True, slots=True)
class Entry:
    key: ScalarNode
    value: Node


@dataclass(frozen=True, slots=True)
class MappingNode:
    entries: Mapping[str, Entry]
    span: Span
    braces: bool
    size: int
    height: int

    def get(self, name: str) -> Node | None:
        entry = self.entries.get(name)
        return entry.value if entry else None

    def mapping(self, name: str) -> MappingNode | None:
        """The value of `name` if it is a mapping."""
        value = self.get(name)
        return value if isinstance(value, MappingNode) else None

    def __contains__(self, name: str) -> bool:
        return name in self.entries

    def __iter__(self) -> Iterator[tuple[str, Node]]:
        return ((name, entry.value) for name, entry in self.entries.items())


Node = ScalarNode | ListNode | MappingNode


def list_node(items: tuple[Node, ...], span: Span) -> ListNode:
    return ListNode(
        items,
        span,
        any(item.braces for item in items),
        1 + sum(item.size for item in items),
        1 + max((item.height for item in items), default=0),
    )


def mapping_node(entries: Mapping[str, Entry], span: Span) -> MappingNode:
    values = [entry.value for entry in entries.values()]
    return MappingNode(
        entries,
        span,
        any(value.braces for value in values),
        1 + sum(value.size + 1 for value in values),
        1 + max((value.height for value in values), default=0),
    )


def with_entries(node: MappingNode, entries: Mapping[str, Entry]) -> MappingNode:
    """The same mapping at the same place with other entries."""
    return mapping_node(entries, node.span)


def scalars(node: Node) -> Iterator[ScalarNode]:
    """Every scalar value below `node`, keys left out."""
    if isinstance(node, ScalarNode):
        yield node
    elif isinstance(node, ListNode):
        for item in node.items:
            yield from scalars(item)
    else:
        for _, value in node:
            yield from scalars(value)
