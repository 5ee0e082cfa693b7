"""A JSON Schema over nodes: scalars get the type that it asks for, mistakes become problems."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.text.complaints import Complaints, branch_for
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

Rules = Mapping[str, Any]
"""A schema or a part of one, as JSON."""

_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)")
_NUMBER = re.compile(
    r"-?(?:0|[1-9][0-9]*)?(?:\.[0-9]+|(?<=[0-9])\.)?(?:(?<=[0-9.])[eE][-+]?[0-9]+)?"
)
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]|[\n\r\t]")
_MAX_DIGITS = 18


@dataclass(frozen=True)
class Schema:
    rules: Rules = field(repr=False)

    @classmethod
    def load(cls, text: str, others: Mapping[str, str] | None = None) -> Schema:
        """The schema with all references followed and without what is said for editors only.

        `others` are the texts of further schemas by the names that references use.
        """
        documents = {name: json.loads(other) for name, other in (others or {}).items()}
        documents[""] = json.loads(text)
        return cls(_followed(documents[""], "", documents))

    def part(self, *path: str) -> Schema:
        """The schema of what stands under these keys."""
        rules = self.rules
        for key in path:
            rules = rules.get("properties", {}).get(key) or rules["additionalProperties"]
        return Schema(rules)

    def typed(self, node: Node) -> Any:
        """The value of `node` as JSON, every scalar in the type that is wanted where it fits."""
        return _typed(node, self.rules, [])

    def check(self, node: Node, above: Sequence[str] = ()) -> list[Problem]:
        """Everything that is wrong with `node`, which stands under the keys `above`."""
        odd: list[ScalarNode] = []
        value = _typed(node, self.rules, odd)
        problems = [_odd(scalar) for scalar in odd]
        errors = list(self._validator.iter_errors(value))
        if errors:
            problems += Complaints(node, above).of(errors)
        return problems

    def check_changed(self, before: Node, after: Node, above: Sequence[str] = ()) -> list[Problem]:
        """What is wrong with the parts of `after` that are other nodes than in `before`."""
        if after is before:
            return []
        if not (isinstance(before, MappingNode) and isinstance(after, MappingNode)):
            return self.check(after, above)
        properties = self.rules.get("properties", {})
        rest = self.rules.get("additionalProperties")
        if before.entries.keys() != after.entries.keys() or "anyOf" in self.rules:
            return self.check(after, above)
        problems: list[Problem] = []
        for name, value in after:
            old = before.entries[name].value
            rules = properties.get(name, rest)
            if value is not old and isinstance(rules, Mapping):
                problems += Schema(rules).check_changed(old, value, (*above, name))
        return problems

    @cached_property
    def _validator(self) -> Any:
        import jsonschema  # here: a tenth of a second that not every command needs

        return jsonschema.Draft202012Validator(self.rules)


def _followed(rules: Any, here: str, documents: Mapping[str, Any]) -> Any:
    if isinstance(rules, list):
        return [_followed(item, here, documents) for item in rules if not _for_editors(item)]
    if not isinstance(rules, dict):
        return rules
    if isinstance(reference := rules.get("$ref"), str):
        name, _, path = reference.partition("#/")
        there = name or here
        target = documents[there]
        for key in path.split("/"):
            target = target[key]
        own = {key: value for key, value in rules.items() if key != "$ref"}
        found = _followed(target, there, documents)
        return {**found, **_followed(own, here, documents)}
    followed = {
        # a value as it is, unless it is a property of that name
        key: value
        if key in {"examples", "default", "enum"}
        and not (isinstance(value, dict) and "$ref" in value)
        else _followed(value, here, documents)
        for key, value in rules.items()
        if key != "$defs"
    }
    return _with_types(followed)


def _for_editors(rules: Any) -> bool:
    """A part that is checked elsewhere, with better words than a schema has."""
    return isinstance(rules, dict) and bool(rules.get("x-editor"))


def _with_types(rules: dict[str, Any]) -> dict[str, Any]:
    """A branch that is left alone takes the place of the choice."""
    branches = rules.get("anyOf")
    if isinstance(branches, list) and len(branches) == 1:
        return {**branches[0], **{key: value for key, value in rules.items() if key != "anyOf"}}
    return rules


def types_of(rules: Rules) -> Sequence[str]:
    kind = rules.get("type", "string")
    return (kind,) if isinstance(kind, str) else tuple(kind)


def _typed(node: Node, rules: Rules, odd: list[ScalarNode]) -> Any:
    if "anyOf" in rules:
        rules = branch_for(node, rules["anyOf"])
    if isinstance(node, ScalarNode):
        return _typed_scalar(node, rules, odd)
    if isinstance(node, ListNode):
        items = rules.get("items", {})
        return [_typed(item, items, odd) for item in node.items]
    properties = rules.get("properties", {})
    rest = rules.get("additionalProperties")
    other = rest if isinstance(rest, Mapping) else {}
    return {name: _typed(value, properties.get(name, other), odd) for name, value in node}


def _typed_scalar(node: ScalarNode, rules: Rules, odd: list[ScalarNode]) -> Any:
    types = types_of(rules)
    if node.empty:
        return None
    if types == ("array",):
        return _list_of_one(node, rules, odd)
    value = _of_type(node, types)
    if isinstance(value, str) and not rules.get("x-lines") and _CONTROL.search(value):
        odd.append(node)
    return value


def _list_of_one(node: ScalarNode, rules: Rules, odd: list[ScalarNode]) -> Any:
    """One text where a list is wanted is meant as a list of one, unless it looks like more."""
    items = rules.get("items", {})
    if rules.get("x-list-only") or (not node.quoted and "," in node.value):
        return node.value
    value = _typed(node, items, odd)
    return node.value if isinstance(value, str) and "string" not in types_of(items) else [value]


def _of_type(node: ScalarNode, types: Sequence[str]) -> Any:
    """The first of the wanted types that fits; quotes ask for text where text may stand."""
    text = node.value
    if node.quoted and "string" in types:
        return text
    if "boolean" in types and text in {"true", "false"}:
        return text == "true"
    if {"integer", "number"} & set(types) and _INTEGER.fullmatch(text):
        return int(text) if len(text) <= _MAX_DIGITS else text
    if "number" in types and any(c.isdigit() for c in text) and _NUMBER.fullmatch(text):
        value = float(text)
        return value if abs(value) != float("inf") else text
    return text


def _odd(node: ScalarNode) -> Problem:
    bad = next(char for char in node.value if _CONTROL.match(char))
    if node.quoted and node.value.endswith("\n") and _CONTROL.search(node.value[:-1]) is None:
        hint = "write it in one line, without | or >"
    else:
        hint = "in double quotes a backslash starts an escape: use / or single quotes"
    return Problem(
        message=f"the text holds a control character, {_names(bad)}", at=node.span, hint=hint
    )


def _names(char: str) -> str:
    known = {"\n": "a line end", "\t": "a tab", "\r": "a carriage return"}
    return known.get(char, f"U+{ord(char):04X}")
