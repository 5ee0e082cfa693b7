"""YAML text → nodes. Every trap of YAML that loses or changes what was meant is a problem here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

import yaml

from qnnbuild.errors import Problem, Span
from qnnbuild.text.broken import broken
from qnnbuild.text.decode import decode, lines_of
from qnnbuild.text.nodes import (
    Entry,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    list_node,
    mapping_node,
)

MAX_DEPTH = 50
MAX_NODES = 100_000  # with every alias unfolded

_FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# tabs, `|#`, `?` in a list: libyaml takes some that the parser in Python refuses
_TAKEN_DIFFERENTLY = re.compile(r"[\t\ufeff]|[|>][-+0-9]*#|(?:^|[\s,\[{])\?")
_CONTROL = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def read_mapping(
    file: str, text: str | bytes, what: str
) -> tuple[MappingNode | None, list[Problem]]:
    """The mapping at the top of a file. `what` is its word: "recipe"."""
    root, problems = read_nodes(file, text)
    if problems and root is None:
        return None, problems
    if root is None or (isinstance(root, ScalarNode) and root.empty):
        at = Span(file=file, line=1, column=1)
        return None, [Problem(message=f"the {what} is empty", at=at)]
    if not isinstance(root, MappingNode):
        kind = "a list" if isinstance(root, ListNode) else f"'{root.value}'"
        message = f"a {what} is a mapping of keys to values, not {kind}"
        return None, [Problem(message=message, at=root.span, hint=space_hint(root))]
    return root, problems


def space_hint(node: Node) -> str | None:
    """A plain 'h:64' was meant as a key and its value."""
    if not isinstance(node, ScalarNode) or node.quoted:
        return None
    pair = re.fullmatch(r"([A-Za-z_]\w*):(\S+)", node.value)
    return f"put a space after the colon: {pair[1]}: {pair[2]}" if pair else None


def read_nodes(file: str, text: str | bytes) -> tuple[Node | None, list[Problem]]:
    """The tree of a file, None if it is empty or too broken to go on with."""
    decoded = decode(file, text)
    if isinstance(decoded, Problem):
        return None, [decoded]
    if _FAST is not yaml.SafeLoader and not _TAKEN_DIFFERENTLY.search(decoded):
        root, problems = _read(file, decoded, _FAST)
        if not problems:
            return root, problems
    return _read(file, decoded, yaml.SafeLoader)  # its words are the same on every machine


def _read(file: str, text: str, loader: Any) -> tuple[Node | None, list[Problem]]:
    builder = _Builder(file, lines_of(text))
    try:
        builder.take(yaml.parse(text, loader))
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        return None, [*builder.problems, broken(file, builder.lines, error)]
    return (None if builder.stopped else builder.root), builder.problems


class Mark(Protocol):
    """What both parsers call a place."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


@dataclass(slots=True)
class _Open:
    """A list or mapping whose end has not come yet."""

    is_mapping: bool
    flow: bool
    start: yaml.CollectionStartEvent
    anchor: str | None
    items: list[Node] = field(default_factory=list)
    entries: dict[str, Entry] = field(default_factory=dict)
    merged: list[Node] = field(default_factory=list)
    key: ScalarNode | None = None


class _Builder:
    """Takes parser events, makes nodes. No recursion: depth is the user's, the stack is ours."""

    def __init__(self, file: str, lines: list[str]) -> None:
        self.file = file
        self.lines = lines
        self.problems: list[Problem] = []
        self.stopped = False  # the tree is not what was meant; nothing more can be said about it
        self.root: Node | None = None
        self._open: list[_Open] = []
        self._anchors: dict[str, Node | None] = {}  # None: not closed yet

    def take(self, events: Iterable[yaml.Event]) -> None:
        documents = 0
        for event in events:
            if isinstance(event, yaml.ScalarEvent):
                self._scalar(event)
            elif isinstance(event, yaml.CollectionStartEvent):
                self._begin(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._end(event)
            elif isinstance(event, yaml.AliasEvent):
                self._alias(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    at = self._at(event)
                    self._stop("two documents in one file", at, hint="one file, one recipe")
            if self.stopped:
                return

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        span = self._at(event)
        if self._refuses_tag(event, span):
            return
        if _SURROGATE.search(event.value):
            self._stop("a text holds half a character", span)
            return
        node = ScalarNode(event.value, span, bool(event.style))
        if event.anchor:
            self._anchors[event.anchor] = node
        self._put(node, event)

    def _begin(self, event: yaml.CollectionStartEvent) -> None:
        if self._refuses_tag(event, self._at(event)):
            return
        if len(self._open) >= MAX_DEPTH:
            at = self._at(event)
            self._stop(f"nested deeper than {MAX_DEPTH} levels", at)
            return
        if event.anchor:
            self._anchors[event.anchor] = None
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        self._open.append(_Open(is_mapping, bool(event.flow_style), event, event.anchor))

    def _end(self, event: yaml.CollectionEndEvent) -> None:
        done = self._open.pop()
        span = self._span(done.start.start_mark, event.end_mark, flow=done.flow)
        node: Node
        if done.is_mapping:
            entries = self._merge(done)
            if entries and not done.flow and not done.merged:
                span = next(iter(entries.values())).key.span
            node = mapping_node(entries, span)
        else:
            node = list_node(tuple(done.items), span)
        if node.size > MAX_NODES:
            self._stop(f"aliases unfold to more than {MAX_NODES:,} values", span)
            return
        if done.anchor:
            self._anchors[done.anchor] = node
        self._put(node, event)

    def _alias(self, event: yaml.AliasEvent) -> None:
        span = self._at(event)
        if event.anchor not in self._anchors:
            self._stop(
                f"no anchor is named '&{event.anchor}'",
                span,
                hint="a text that starts with * must be quoted",
            )
            return
        node = self._anchors[event.anchor]
        if node is None:
            self._stop(f"the alias '*{event.anchor}' holds itself", span)
        elif node.height + len(self._open) > MAX_DEPTH:
            self._stop(f"aliases unfold deeper than {MAX_DEPTH} levels", span)
        else:
            self._put(node, event)

    def _put(self, node: Node, event: yaml.Event) -> None:
        if not self._open:
            self.root = node
            return
        parent = self._open[-1]
        if not parent.is_mapping:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._key(node)
        else:
            self._pair(parent, parent.key, node, event)
            parent.key = None

    def _key(self, node: Node) -> ScalarNode | None:
        if not isinstance(node, ScalarNode):
            what = "a list" if isinstance(node, ListNode) else "a mapping"
            hint = "quote texts that start with { or ["
            self._stop(f"a key is a text, not {what}", node.span, hint=hint)
            return None
        if _CONTROL.search(node.value):
            self._stop(f"the key {node.value!r} holds a control character", node.span)
            return None
        if not node.value:
            self._stop("a key is missing before ':'", node.span)
            return None
        return node

    def _pair(self, parent: _Open, key: ScalarNode, value: Node, event: yaml.Event) -> None:
        absent = isinstance(event, yaml.ScalarEvent) and not event.style and not event.value
        hint = space_hint(key)
        if parent.flow and absent and hint and self._at(event).column == key.span.end:
            self._stop(f"'{key.value}' is one text, not a key and its value", key.span, hint=hint)
        elif parent.flow and absent and parent.entries and key.value.isdecimal():
            name, entry = list(parent.entries.items())[-1]
            first = f"{entry.value.value}, " if isinstance(entry.value, ScalarNode) else ""
            hint = f"write {name}: [{first}{key.value}, …]"
            self._stop("a list of numbers wants brackets", key.span, hint=hint)
        elif key.value == "<<" and not key.quoted and not parent.merged:
            self._take_merged(parent, value)
        elif (key.value == "<<" and not key.quoted) or key.value in parent.entries:
            self._twice(parent, key)
        else:
            parent.entries[key.value] = Entry(key, value)

    def _take_merged(self, parent: _Open, value: Node) -> None:
        parts = value.items if isinstance(value, ListNode) else (value,)
        for part in parts:
            if not isinstance(part, MappingNode):
                self._stop("'<<' merges mappings, nothing else", part.span)
        parent.merged.extend(parts)

    def _merge(self, done: _Open) -> dict[str, Entry]:
        """`<<` fills in whole values, one level deep; what stands in the mapping itself wins."""
        entries: dict[str, Entry] = {}
        for part in done.merged:
            if isinstance(part, MappingNode):
                entries = {**part.entries, **entries}
        return {**entries, **done.entries}

    def _twice(self, parent: _Open, key: ScalarNode) -> None:
        first = parent.entries.get(key.value)
        message = f"'{key.value}' is there twice"
        if first:
            message += f", in lines {first.key.span.line} and {key.span.line}"
        self.problems.append(Problem(message=message, at=key.span))

    def _refuses_tag(self, event: yaml.NodeEvent, span: Span) -> bool:
        tag = getattr(event, "tag", None)
        if tag:
            hint = "tags have no meaning here: values get their type from the schema"
            self._stop("a text that starts with '!' must be quoted", span, hint=hint)
        return bool(tag)

    def _stop(self, message: str, at: Span, hint: str | None = None) -> None:
        if not self.stopped:
            self.problems.append(Problem(message=message, at=at, hint=hint))
        self.stopped = True

    def _at(self, event: yaml.Event) -> Span:
        return self._span(event.start_mark, event.end_mark)

    def _span(self, start: Mark | None, end: Mark | None, *, flow: bool = True) -> Span:
        assert start is not None  # the parsers give every event its marks
        assert end is not None
        text = self.lines[start.line] if start.line < len(self.lines) else ""
        one_line = end.line == start.line and flow
        last = end.column + 1 if one_line else max(len(text.rstrip()) + 1, start.column + 2)
        return Span(
            file=self.file, line=start.line + 1, column=start.column + 1, end=last, text=text
        )
