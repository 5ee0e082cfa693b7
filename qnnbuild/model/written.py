"""A recipe as written: merging what overrides, filling placeholders. Nodes in, nodes out."""

from __future__ import annotations

import re
from collections.abc import Mapping

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.text.nodes import (
    Entry,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    list_node,
    with_entries,
)

SOURCES = ("file", "url", "pypi", "hub", "export")

_BRACES = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")
_WHOLE = re.compile(r"\{[^{}]*\}")


def merged(below: Node | None, above: Node) -> Node:
    """`above` over `below`: mappings key by key, everything else as a whole."""
    if not (isinstance(below, MappingNode) and isinstance(above, MappingNode)):
        return above
    entries = dict(below.entries)
    for name, entry in above.entries.items():
        old = entries.get(name)
        if old is None or _other_source(name, entry.value):
            entries[name] = entry
        else:
            entries[name] = Entry(entry.key, merged(old.value, entry.value))
    return with_entries(above, entries)


def merged_mapping(below: MappingNode | None, above: MappingNode) -> MappingNode:
    node = merged(below, above)
    assert isinstance(node, MappingNode)
    return node


def without(node: MappingNode, *names: str) -> MappingNode:
    left = {name: entry for name, entry in node.entries.items() if name not in names}
    return node if len(left) == len(node.entries) else with_entries(node, left)


def fill(
    node: Node,
    values: Mapping[str, str],
    problems: list[Problem],
    elsewhere: Mapping[str, str] | None = None,
) -> Node:
    """`node` with {name} replaced by its value, {{ by a brace; the same node where nothing stands.

    `elsewhere` says of names that have no value here where they have one.
    """
    if not node.braces:
        return node
    if isinstance(node, ListNode):
        return list_node(
            tuple(fill(item, values, problems, elsewhere) for item in node.items), node.span
        )
    if isinstance(node, MappingNode):
        entries = {
            name: Entry(entry.key, fill(entry.value, values, problems, elsewhere))
            for name, entry in node.entries.items()
        }
        return with_entries(node, entries)
    return _filled(node, values, problems, elsewhere or {})


def placeholders(node: Node) -> set[str]:
    """The names in braces anywhere below `node`."""
    if not node.braces:
        return set()
    if isinstance(node, ScalarNode):
        return {found[1] for found in _BRACES.finditer(node.value) if found[1]}
    parts = node.items if isinstance(node, ListNode) else [value for _, value in node]
    return set().union(*(placeholders(part) for part in parts))


def _other_source(name: str, value: Node) -> bool:
    """A source of another kind replaces all of a source; keys of two kinds never mix."""
    return name == "source" and isinstance(value, MappingNode) and any(k in value for k in SOURCES)


def _filled(
    node: ScalarNode,
    values: Mapping[str, str],
    problems: list[Problem],
    elsewhere: Mapping[str, str],
) -> ScalarNode:
    def replace(found: re.Match[str]) -> str:
        text = found.group()
        if text in {"{{", "}}"}:
            return text[0]
        name = found[1]
        if name in values:
            return values[name]
        problems.append(_unknown(node, text, name, values, elsewhere))
        return text

    value = _BRACES.sub(replace, node.value)
    alone = _WHOLE.fullmatch(node.value) is not None  # then the value's own type is meant
    written = node.written if node.written is not None else node.value
    return ScalarNode(value, node.span, node.quoted and not alone, written)


def _unknown(
    node: ScalarNode,
    text: str,
    name: str | None,
    values: Mapping[str, str],
    elsewhere: Mapping[str, str],
) -> Problem:
    if not name:
        return Problem(
            message=f"a lone '{text}'", at=node.span, hint=f"write {text[0] * 2} for a brace"
        )
    if name in elsewhere:
        return Problem(message=f"{{{name}}} has a value in {elsewhere[name]} only", at=node.span)
    known = " ".join(f"{{{word}}}" for word in values)
    near = did_you_mean(f"{{{name}}}", [f"{{{word}}}" for word in values])
    return Problem(
        message=f"{{{name}}} has no value",
        at=node.span,
        hint=near or f"known here: {known}; {{{{ is a brace",
    )
