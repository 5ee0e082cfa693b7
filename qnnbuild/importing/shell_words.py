"""Words of a shell script → texts, with holes for what only a run would know. Nothing is run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from qnnbuild.importing.holes import cleaned, hole, is_known

if TYPE_CHECKING:
    from tree_sitter import Node

Values = Mapping[str, str | tuple[str, ...]]
"""Variables: a text, or the items of an array."""

_EXPANSION = re.compile(r"\$\{(!?#?)(\w+|[@*#?])(?:\[([@*]|\d+)\])?(.*)\}", re.DOTALL)
_SPLIT = ("simple_expansion", "expansion", "command_substitution")
MOST_ITEMS = 1000
MOST_LETTERS = 1 << 16
"""Of a text: x=$x$x in forty lines is a terabyte."""


class TooLong(Exception):
    """A text that grows beyond what anybody writes."""


def text_of(node: Node, values: Values) -> str:
    """One word as the shell would see it after its expansions."""
    kind = node.type
    if kind in ("simple_expansion", "expansion"):
        return " ".join(_expanded(_raw(node), values))
    if kind in ("command_substitution", "arithmetic_expansion", "process_substitution"):
        return hole("_".join(cleaned(_raw(node)).split())[:40])  # a word, as its value may be
    if kind == "raw_string":
        return cleaned(_raw(node)[1:-1])
    if kind == "ansi_c_string":
        return cleaned(_raw(node)[2:-1])
    if kind in ("string", "translated_string"):
        return _unescaped(_filled(node, values).strip('"'), '"$`\\\n')
    if kind in ("heredoc_body", "concatenation", "command_name", "string_content"):
        return _filled(node, values)
    return _unescaped(cleaned(_raw(node)), None)


def items_of(node: Node, values: Values) -> list[str]:
    """The words that one word becomes: without quotes a variable is split at its spaces."""
    if node.type in _SPLIT:
        found = _expanded(_raw(node), values) if node.type != _SPLIT[2] else [text_of(node, values)]
        return [item for text in found for item in text.split()][:MOST_ITEMS]
    if node.type == "string" and node.named_child_count == 1:
        inner = node.named_children[0]
        whole = len(node.text or b"") == len(inner.text or b"") + 2  # but for the quotes
        if whole and re.search(r"\[@\]|^\$\{?@", _raw(inner)):
            return _expanded(_raw(inner), values)[:MOST_ITEMS]
    return [text_of(node, values)]


def _raw(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def _filled(node: Node, values: Values) -> str:
    """The node's text with its parts filled; what stands between them is text as well."""
    whole = node.text or b""
    parts: list[str] = []
    at = 0
    for child in node.named_children:
        begin, end = child.start_byte - node.start_byte, child.end_byte - node.start_byte
        parts += [cleaned(whole[at:begin].decode(errors="replace")), text_of(child, values)]
        at = end
    parts.append(cleaned(whole[at:].decode(errors="replace")))
    if sum(map(len, parts)) > MOST_LETTERS + len(whole):
        raise TooLong
    return "".join(parts)


def _unescaped(text: str, special: str | None) -> str:
    """Without backslashes; inside double quotes only before what is special there."""

    def one(found: re.Match[str]) -> str:
        letter = found[1]
        if letter == "\n":
            return ""
        return letter if special is None or letter in special else found[0]

    return re.sub(r"\\(.|\n)", one, text)


def _expanded(written: str, values: Values) -> list[str]:
    """$name or ${name…}: the variable's items, changed as the rest says."""
    found = _EXPANSION.fullmatch(written)
    if found is None:
        return list(_items(written.lstrip("$"), values))
    sign, name, index, rest = found.groups()
    if sign:
        return [hole(cleaned(written))]
    items = list(_items(name, values))
    if name == "@" and re.fullmatch(r":\d+", rest):
        return items[max(int(rest[1:]) - 1, 0) :]
    if index and index.isdecimal():
        items = items[int(index) : int(index) + 1] or [hole(name)]
    if rest.startswith((":-", "-", ":=", "=")) and name not in values:
        return [cleaned(rest.lstrip(":").lstrip("-="))]
    return [_changed(item, rest) for item in items]


def _items(name: str, values: Values) -> Iterator[str]:
    value = values.get(name)
    if value is None:
        yield hole(name)
    elif isinstance(value, str):
        yield value
    else:
        yield from value


def _changed(text: str, rest: str) -> str:
    """By %, #, / and their doubles; what cannot be known stays as it was."""
    if rest.startswith("/") and is_known(text):
        every = rest.startswith("//")
        old, _, new = rest.lstrip("/").partition("/")
        plain = old and not set(old) & set("*?[\\$")
        short = len(text) * max(len(new), 1) <= MOST_LETTERS
        return text.replace(old, new, -1 if every else 1) if plain and short else text
    for sign, pick in (("%%", max), ("%", min), ("##", max), ("#", min)):
        if rest.startswith(sign):
            pattern = rest.removeprefix(sign)
            return _cut(text, pattern, pick is max, at_end=sign[0] == "%")
    return text


def _cut(text: str, pattern: str, most: bool, *, at_end: bool) -> str:
    if not is_known(text):
        return text.removesuffix(pattern) if at_end else text
    if len(text) > MOST_ITEMS:
        return text
    lengths = [
        n
        for n in range(len(text) + 1)
        if fnmatchcase(text[len(text) - n :] if at_end else text[:n], pattern)
    ]
    if not lengths:
        return text
    cut = max(lengths) if most else min(lengths)
    return text[: len(text) - cut] if at_end else text[cut:]
