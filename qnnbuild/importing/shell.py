"""A shell script → the commands that it would run, each with its line. Nothing is run.

Every branch is walked, loops over known words are followed, and what only a run would know stays
a hole in the words.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from qnnbuild.errors import RecipeError
from qnnbuild.importing.carried import Place
from qnnbuild.importing.holes import hole, is_known
from qnnbuild.importing.shell_words import MOST_ITEMS, TooLong, items_of, text_of
from qnnbuild.model.recipe_file import RESERVED_AXES

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_PLAIN_NAME = re.compile(r"(?<!\\)\$([A-Za-z_]\w*)")
_GLOB = {*"*?["}
"""Letters of a pattern that only a folder's files fill."""

MOST_BYTES = 4 << 20
MOST_STEPS = 20_000
MOST_DEPTH = 150
_READ_FLAGS_WITH_VALUE = ("-d", "-n", "-N", "-p", "-t", "-u", "-i")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command line, its words filled."""

    words: tuple[str, ...]
    at: Place


@dataclass(kw_only=True)
class Script:
    """What a script would do, as far as its text tells."""

    commands: list[Command] = field(default_factory=list)
    axes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # a loop's variable → its words
    files: dict[str, tuple[str, Place]] = field(default_factory=dict)  # what it writes by itself
    values: dict[str, str | tuple[str, ...]] = field(default_factory=dict)
    not_read: list[Place] = field(default_factory=list)  # lines that are no shell
    steps: int = 0


def walk(
    text: str,
    file: str,
    *,
    first_line: int = 1,
    values: Mapping[str, str | tuple[str, ...]] | None = None,
    axes: Mapping[str, tuple[str, ...]] | None = None,
    unrolled: Collection[str] = (),
    most_steps: int = MOST_STEPS,
) -> Script:
    """Walk through a script. Loops over `unrolled` variables are gone through word by word.

    Raises RecipeError for a script that is larger or deeper than anybody writes.
    """
    # the grammar breaks $a/$b.c in two, and ${a}/${b}.c it does not
    data = _PLAIN_NAME.sub(r"${\1}", text).encode()
    if len(data) > MOST_BYTES:
        raise RecipeError(f"{file} has {len(data)} bytes, which no script has")
    script = Script(values={**(values or {})})
    for name, words in (axes or {}).items():
        script.axes[axis_name(name)] = words
        script.values[name] = hole(axis_name(name))
    walker = _Walker(script, file, first_line, frozenset(unrolled), most_steps)
    tree = _parser().parse(data)
    walker.visit(tree.root_node, 0)
    return script


def axis_name(variable: str) -> str:
    """What a recipe can call the loop over a variable."""
    return f"{variable}_name" if variable in RESERVED_AXES else variable


@cache
def _parser() -> Parser:
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))


class _Walker:
    def __init__(
        self, script: Script, file: str, first_line: int, unrolled: frozenset[str], most: int
    ) -> None:
        self.script, self.file, self.first_line, self.most = script, file, first_line, most
        self.unrolled = unrolled
        self.given = frozenset(script.values)  # what was said from outside
        self.functions: dict[str, Node] = {}

    def visit(self, node: Node, depth: int) -> None:
        self.script.steps += 1
        if self.script.steps > self.most or depth > MOST_DEPTH:
            raise self._too_much(node)
        if node.type == "ERROR" or node.is_missing:
            self.script.not_read.append(self._at(node))
        kind = getattr(self, f"_visit_{node.type}", None)
        if kind is None:
            self._inside(node, depth)
            return
        try:
            kind(node, depth)
        except TooLong:
            raise self._too_much(node) from None

    def _too_much(self, node: Node) -> RecipeError:
        return RecipeError(
            f"{self.file}: the script goes through more than can be followed",
            facts=[("at line", str(self._at(node).line))],
            hint="give the part of it that calls the SDK's tools as a file of its own",
        )

    def _inside(self, node: Node, depth: int) -> None:
        for child in node.named_children:
            self.visit(child, depth + 1)

    def _at(self, node: Node) -> Place:
        return Place(self.file, self.first_line + node.start_point[0])

    def _text(self, node: Node) -> str:
        return text_of(node, self.script.values)

    def _visit_variable_assignment(self, node: Node, _: int) -> None:
        name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        if name is None or name.type != "variable_name":
            return
        key = self._text(name)
        if value is None:
            self.script.values[key] = ""
        elif value.type == "array":
            items = [i for one in value.named_children for i in items_of(one, self.script.values)]
            self.script.values[key] = tuple(items[:MOST_ITEMS])
        elif key not in self.given or is_known(self._text(value)):
            self.script.values[key] = self._text(value)

    def _visit_for_statement(self, node: Node, depth: int) -> None:
        body = node.child_by_field_name("body")
        name = node.child_by_field_name("variable")
        if body is None or name is None:
            return
        variable = self._text(name)
        given = [child for child in node.named_children if child not in (body, name)]
        words = [item for one in given for item in items_of(one, self.script.values)]
        if not words or not all(is_known(word) and not _GLOB & {*word} for word in words):
            if variable not in self.script.axes:
                self.script.values[variable] = hole(variable)
            self.visit(body, depth + 1)
        elif len(words) == 1 or variable in self.unrolled:
            for word in words:
                self.script.values[variable] = word
                self.visit(body, depth + 1)
        else:
            self.script.values[variable] = hole(self._axis(variable, tuple(words)))
            self.visit(body, depth + 1)

    def _axis(self, variable: str, words: tuple[str, ...]) -> str:
        """The name of the axis: two loops over other words are two axes."""
        usual, turn = axis_name(variable), 2
        name = usual
        while self.script.axes.get(name, words) != words:
            name, turn = f"{usual}_{turn}", turn + 1
        self.script.axes[name] = words
        return name

    def _visit_function_definition(self, node: Node, _: int) -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is not None and body is not None:
            self.functions[self._text(name)] = body

    def _visit_redirected_statement(self, node: Node, depth: int) -> None:
        self._inside(node, depth)
        parts = [node, *node.named_children]
        bodies = [c for part in parts for c in part.named_children if c.type == "heredoc_body"]
        targets = [
            child.named_children[-1]
            for part in parts
            for child in part.named_children
            if child.type == "file_redirect" and child.named_children
        ]
        if bodies and targets:
            starts = [c for p in parts for c in p.named_children if c.type == "heredoc_start"]
            quoted = any((start.text or b"").startswith((b"'", b'"')) for start in starts)
            body = (bodies[0].text or b"").decode(errors="replace")
            text = body if quoted else self._text(bodies[0])
            self.script.files[self._text(targets[0])] = (text, self._at(bodies[0]))

    def _visit_command(self, node: Node, depth: int) -> None:
        words: list[str] = []
        herestring = None
        for child in node.named_children:
            if child.type == "herestring_redirect":
                herestring = " ".join(self._text(one) for one in child.named_children)
            elif child.type == "command_name":
                words += items_of(child.named_children[0], self.script.values) or [""]
            elif child.type not in ("variable_assignment", "file_redirect", "heredoc_redirect"):
                words += items_of(child, self.script.values)
        if not words:
            return
        if words[0] == "read":
            self._read(words[1:], herestring)
        elif words[0] == "shift":
            by = next((int(word) for word in words[1:] if word.isdecimal()), 1)
            self._place_arguments(self._arguments()[by:])
        elif words[0] in self.functions:
            self._call(words, depth)
        else:
            self.script.commands.append(Command(words=tuple(words), at=self._at(node)))

    def _read(self, words: list[str], herestring: str | None) -> None:
        """`read` takes words of a here-string; whatever else it reads is not known."""
        names = list(_names(words))
        if herestring is None:
            values: list[str | tuple[str, ...]] = [hole(name) for name in names]
        elif any(word.startswith("-") and "a" in word for word in words):
            values = [tuple(herestring.split())]
        else:
            split = herestring.split(maxsplit=max(len(names) - 1, 0))
            values = [*split, *([""] * (len(names) - len(split)))]
        self.script.values.update(zip(names, values, strict=False))

    def _call(self, words: list[str], depth: int) -> None:
        """Through the function's body, with its arguments in place."""
        kept = self._arguments()
        self._place_arguments(tuple(words[1:]))
        self.visit(self.functions[words[0]], depth + 10)  # calls of itself end soon
        self._place_arguments(kept)

    def _arguments(self) -> tuple[str, ...]:
        found = self.script.values.get("@", ())
        return found if isinstance(found, tuple) else (found,)

    def _place_arguments(self, words: tuple[str, ...]) -> None:
        """$1, $2 and so on, and $@ for all of them."""
        for name in [name for name in self.script.values if name.isdecimal()]:
            del self.script.values[name]
        self.script.values.update({str(i): word for i, word in enumerate(words, start=1)})
        self.script.values["@"] = words


def _names(words: list[str]) -> Iterator[str]:
    """The variables of a `read`."""
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word.startswith("-"):
            skip = word in _READ_FLAGS_WITH_VALUE
        else:
            yield word
