"""What jsonschema says, in the user's words and at the user's place."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.errors import Problem, Span, did_you_mean
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

Rules = Mapping[str, Any]
Path = tuple[str | int, ...]

_WORDS = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "a mapping",
}
_BOOLEANS = {
    **dict.fromkeys(("yes", "on", "y", "true", "1"), "true"),
    **dict.fromkeys(("no", "off", "n", "false", "0"), "false"),
}


def in_order(problems: Iterable[Problem]) -> list[Problem]:
    """Each once, as they stand in the file."""
    return sorted(
        dict.fromkeys(problems),
        key=lambda p: (p.at.file, p.at.line, p.at.column) if p.at else ("", 0, 0),
    )


def branch_for(node: Node, branches: Sequence[Rules]) -> Rules:
    """The branch of a choice that `node` was meant as: by its kind, then by the keys it has."""
    fitting = [branch for branch in branches if _kind(node) in _kinds(branch)]
    if isinstance(node, MappingNode) and len(fitting) > 1:
        return next((b for b in fitting if b.get("required", [""])[0] in node), fitting[0])
    if not fitting and isinstance(node, ScalarNode):
        fitting = [branch for branch in branches if "list" in _kinds(branch)]
    return (fitting or branches)[0]


class Complaints:
    """Turns the errors of one check of `root` into problems, one for each mistake."""

    def __init__(self, root: Node, above: Sequence[str] = ()) -> None:
        self._root = root
        self._above = tuple(above)  # keys that lead to the root

    def of(self, errors: Iterable[Any]) -> list[Problem]:
        told = [problem for error in errors for problem in self._told(error)]
        return list(dict.fromkeys(told))

    def _told(self, error: Any) -> Iterator[Problem]:
        path = tuple(error.absolute_path)
        node = self._node(path)
        if error.validator == "anyOf":
            yield from self._choice(error, path, node)
        elif "propertyNames" in list(error.absolute_schema_path)[:-1]:
            yield self._name(error, node)
        elif error.validator in {"required", "additionalProperties"}:
            yield from self._keys(error.schema, path, node)
        elif error.validator == "type":
            yield self._type(_wanted(error.schema), error.schema, path, node)
        else:
            yield self._value(error, path, node)

    def _choice(self, error: Any, path: Path, node: Node) -> Iterator[Problem]:
        branches = error.validator_value
        chosen = branch_for(node, branches)
        ways = [branch["required"][0] for branch in branches if branch.get("required")]
        if isinstance(node, MappingNode) and len(ways) == len(branches):
            given = [way for way in ways if way in node]
            if len(given) != 1:
                yield self._one_of(given, ways, path, node)
                return
        index = next(i for i, branch in enumerate(branches) if branch is chosen)
        for inner in error.context:
            if inner.schema_path[0] != index:
                continue
            if inner.validator == "type" and not inner.relative_path:
                yield self._type(_wanted({"anyOf": branches}), chosen, path, node)
            else:
                yield from self._told(inner)

    def _one_of(self, given: list[str], ways: list[str], path: Path, node: MappingNode) -> Problem:
        """Exactly one key of several decides what the mapping is."""
        word = self._label(path)
        if given:
            second = node.entries[given[1]].key
            return Problem(message=f"{word} is one of {_and(given)}, not both", at=second.span)
        for name, entry in node.entries.items():
            if near := did_you_mean(name, ways):
                return Problem(message=f"unknown key '{name}'", at=entry.key.span, hint=near)
        return Problem(message=f"{word} needs one of {', '.join(ways)}", at=self._place(path, node))

    def _keys(self, rules: Rules, path: Path, node: Node) -> Iterator[Problem]:
        """Unknown and missing keys together: a misspelt one is not also a missing one."""
        assert isinstance(node, MappingNode)
        properties = rules.get("properties", {})
        closed = rules.get("additionalProperties") is False
        missing = [name for name in rules.get("required", ()) if name not in node]
        for name, entry in node.entries.items():
            if closed and name not in properties:
                hint = did_you_mean(name, properties) or f"known here: {', '.join(properties)}"
                yield Problem(message=f"unknown key '{name}'", at=entry.key.span, hint=hint)
                excused = difflib.get_close_matches(name, missing, n=1, cutoff=0.6)
                missing = [key for key in missing if key not in excused]
        for name in missing:
            about = properties.get(name, {}).get("description")
            yield Problem(
                message=f"'{name}' is missing" + (f" from {self._label(path)}" if path else ""),
                at=self._place(path, node),
                hint=f"{name}: {about}" if about else None,
            )

    def _name(self, error: Any, node: Node) -> Problem:
        """A key that may not be called so."""
        name = str(error.instance)
        assert isinstance(node, MappingNode)
        at = node.entries[name].key.span
        if error.validator == "enum":
            return _not_one_of(f"'{name}'", name, error.validator_value, at)
        why = error.schema.get("patternErrorMessage", "is too long")
        return Problem(message=f"'{name}' {why}", at=at)

    def _type(self, wanted: str, rules: Rules, path: Path, node: Node) -> Problem:
        word = self._label(path)
        message = f"{word} wants {wanted}, not {_shown(node)}"
        if not isinstance(node, ScalarNode):
            return Problem(message=message, at=self._place(path, node))
        if node.empty:
            hint = f"write {wanted}, or leave the key out"
            return Problem(message=f"{word} is empty", at=self._place(path, node), hint=hint)
        return Problem(
            message=message, at=node.span, facts=_filled(node), hint=_way_out(node, rules)
        )

    def _value(self, error: Any, path: Path, node: Node) -> Problem:
        word = self._label(path)
        limit = error.validator_value
        size = _count(len(error.instance)) if isinstance(error.instance, list) else ""
        at = node.span if isinstance(node, ScalarNode) else self._place(path, node)
        facts = _filled(node)
        if error.validator == "enum":
            return _not_one_of(
                word, _text(node), [_as_written(value) for value in limit], at, facts
            )
        if error.validator == "uniqueItems" and isinstance(node, ListNode):
            again = _again(node)
            return Problem(message=f"{_shown(again)} is there twice", at=again.span)
        if error.validator == "not":
            message, hint = f"{_shown(node)} holds a backslash", "write / between folders"
            return Problem(message=message, at=at, facts=facts, hint=hint)
        message = {
            "pattern": f"{_shown(node)} {error.schema.get('patternErrorMessage', 'does not fit')}",
            "minLength": f"{word} is empty",
            "maxLength": f"{_shown(node)} is longer than {limit} letters",
            "minimum": f"{word} wants at least {limit}, not {_text(node)}",
            "maximum": f"{word} wants at most {limit}, not {_text(node)}",
            "exclusiveMinimum": f"{word} wants more than {limit}, not {_text(node)}",
            "minItems": f"{word} wants {_count(limit)}, not {size}",
            "maxItems": f"{word} wants {_count(limit)}, not {size}",
            "minProperties": f"{word} is an empty mapping",
        }.get(error.validator, f"{word}: {error.message}")
        return Problem(message=message, at=at, facts=facts)

    def _label(self, path: Path) -> str:
        steps = [step for step in (*self._above, *path) if isinstance(step, str)]
        return f"'{steps[-1]}'" if steps else "this"

    def _node(self, path: Path) -> Node:
        node = self._root
        for step in path:
            if isinstance(node, MappingNode):
                node = node.entries[str(step)].value
            elif isinstance(node, ListNode) and isinstance(step, int):
                node = node.items[step]  # a scalar stays: it is its own list of one
        return node

    def _place(self, path: Path, node: Node) -> Span:
        """The key of a value, or the value itself where it stands in a list."""
        if not path or not isinstance(path[-1], str):
            return node.span
        parent = self._node(path[:-1])
        return parent.entries[path[-1]].key.span if isinstance(parent, MappingNode) else node.span


def _as_written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _not_one_of(
    word: str, text: str, known: Sequence[str], at: Span, facts: tuple[tuple[str, str], ...] = ()
) -> Problem:
    message = f"{word} wants one of {', '.join(known)}"
    if word != f"'{text}'":
        message += f", not '{text}'"
    return Problem(message=message, at=at, facts=facts, hint=did_you_mean(text, known))


def _wanted(rules: Rules) -> str:
    if "anyOf" in rules:
        return " or ".join(dict.fromkeys(_wanted(branch) for branch in rules["anyOf"]))
    kinds = rules.get("type", "string")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    return " or ".join(
        _list_wanted(rules) if kind == "array" else _WORDS[kind] for kind in kinds if kind != "null"
    )


def _list_wanted(rules: Rules) -> str:
    kinds = rules.get("items", {}).get("type", "string")
    return "a list of numbers" if kinds in ("integer", "number") else "a list"


def _way_out(node: ScalarNode, rules: Rules) -> str | None:
    kinds = rules.get("type", "string")
    text = node.value
    if kinds == "array":
        numbers = "numbers" in _list_wanted(rules)
        words = re.findall(r"-?\d+(?:\.\d+)?", text) if numbers else re.split(r"[,\s]+", text)
        return f"write [{', '.join(word for word in words if word)}]" if words else None
    if "boolean" in kinds and text.lower() in _BOOLEANS:
        return f"write {_BOOLEANS[text.lower()]}"
    if "integer" in kinds or "number" in kinds:
        if re.fullmatch(r"0\d+", text):
            return f"some readers of YAML take {text} for an octal number: write {int(text)}"
        if re.fullmatch(r"[\d_]+", text):
            return f"write {text.replace('_', '')}"
    pair = re.fullmatch(r"([A-Za-z_]\w*):(\S+)", text)
    if pair and "object" in kinds:
        return f"put a space after the colon: {pair[1]}: {pair[2]}"
    return None


def _again(node: ListNode) -> Node:
    seen: set[str] = set()
    for item in node.items:
        if _text(item) in seen:
            return item
        seen.add(_text(item))
    return node


def _filled(node: Node) -> tuple[tuple[str, str], ...]:
    """A value that came out of placeholders says what was written."""
    written = node.written if isinstance(node, ScalarNode) else None
    return (("written", written),) if written is not None else ()


def _text(node: Node) -> str:
    return node.value if isinstance(node, ScalarNode) else ""


def _shown(node: Node) -> str:
    if isinstance(node, ScalarNode):
        text = node.value if len(node.value) <= 60 else node.value[:59] + "…"
        return f"'{text}'"
    return "a list" if isinstance(node, ListNode) else "a mapping"


def _count(number: int) -> str:
    return "one value" if number == 1 else f"{number} values"


def _and(words: Sequence[str]) -> str:
    return " and ".join(f"'{word}'" for word in words)


def _kind(node: Node) -> str:
    if isinstance(node, ScalarNode):
        return "scalar"
    return "list" if isinstance(node, ListNode) else "mapping"


def _kinds(rules: Rules) -> set[str]:
    kinds = rules.get("type", "string")
    names = {"array": "list", "object": "mapping"}
    return {names.get(kind, "scalar") for kind in ([kinds] if isinstance(kinds, str) else kinds)}
