"""YAML as nodes: text stays text, places are exact, traps are told."""

from __future__ import annotations

import pytest

from qnnbuild.errors import Span
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode
from qnnbuild.text.reader import MAX_DEPTH, read_mapping, read_nodes


def plain(node: Node | None) -> object:
    if isinstance(node, ScalarNode):
        return node.value
    if isinstance(node, ListNode):
        return [plain(item) for item in node.items]
    assert isinstance(node, MappingNode)
    return {name: plain(value) for name, value in node}


def tree(text: str | bytes) -> object:
    root, problems = read_nodes("r.yaml", text)

    assert problems == []
    return plain(root)


def said(text: str | bytes) -> list[str]:
    _, problems = read_mapping("r.yaml", text, "recipe")
    return [f"{p.at and p.at.line}:{p.at and p.at.column} {p.message}" for p in problems]


def test_scalars_stay_the_text_that_was_written() -> None:
    assert tree("[2.40, no, on, 010, 1_000, 1:30, 2026-01-02, ~, null, 8e2, .inf]") == [
        *("2.40", "no", "on", "010", "1_000", "1:30", "2026-01-02", "~", "null", "8e2", ".inf")
    ]


def test_every_part_knows_its_line_column_end_and_text() -> None:
    root, _ = read_nodes("r.yaml", "a: 1\nmodèle: [x, 'y z']\n")
    assert isinstance(root, MappingNode)
    entry = root.entries["modèle"]
    assert isinstance(entry.value, ListNode)
    line = "modèle: [x, 'y z']"

    assert entry.key.span == Span(file="r.yaml", line=2, column=1, end=7, text=line)
    assert entry.value.span == Span(file="r.yaml", line=2, column=9, end=19, text=line)
    assert entry.value.items[1].span == Span(file="r.yaml", line=2, column=13, end=18, text=line)


def test_quotes_are_remembered() -> None:
    root, _ = read_nodes("r.yaml", "[a, 'a', \"a\"]")
    assert isinstance(root, ListNode)

    assert [item.quoted for item in root.items if isinstance(item, ScalarNode)] == [
        *(False, True, True)
    ]


@pytest.mark.parametrize(
    "text", ["\ufeffa: [b]\n", "a:\r\n  - b\r\n", "a:\r  - b\r", b"\xef\xbb\xbfa: [b]"]
)
def test_byte_order_marks_and_line_ends_change_nothing(text: str | bytes) -> None:
    assert tree(text) == {"a": ["b"]}


def test_a_merge_fills_in_one_level_and_the_mapping_itself_wins() -> None:
    text = "base: &b {opts: {vtcm: 8, opt: 3}, z: 1}\nuse: {<<: *b, opts: {vtcm: 4}}\n"

    assert tree(text) == {
        "base": {"opts": {"vtcm": "8", "opt": "3"}, "z": "1"},
        "use": {"opts": {"vtcm": "4"}, "z": "1"},
    }


def test_of_several_merges_the_first_wins() -> None:
    assert tree("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nc: {<<: [*a, *b]}\n") == {
        "a": {"x": "1"},
        "b": {"x": "2", "y": "2"},
        "c": {"x": "1", "y": "2"},
    }


def test_an_alias_is_the_very_same_node() -> None:
    root, _ = read_nodes("r.yaml", "a: &s {chips: [x]}\nb: *s\n")
    assert isinstance(root, MappingNode)

    assert root.get("a") is root.get("b")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", "1:1 the recipe is empty"),
        ("# later\n", "1:1 the recipe is empty"),
        ("---\n", "1:1 the recipe is empty"),
        ("~", "1:1 the recipe is empty"),
        ("- a\n", "1:1 a recipe is a mapping of keys to values, not a list"),
        ("h:64\n", "1:1 a recipe is a mapping of keys to values, not 'h:64'"),
        ("a: {x: 1}\nb: 2\na: 3\n", "3:1 'a' is there twice, in lines 1 and 3"),
        ("8650: a\n'8650': b\n", "2:1 '8650' is there twice, in lines 1 and 2"),
        ("a: {<<: {x: 1}, <<: {y: 1}}", "1:17 '<<' is there twice"),
        ("a: {<<: 3}", "1:9 '<<' merges mappings, nothing else"),
        ("a: &a [*a]", "1:8 the alias '*a' holds itself"),
        ("a: *x", "1:4 no anchor is named '&x'"),
        ("a:\n\tb: 1\n", "2:1 a tab in the indent, where YAML wants spaces"),
        ("a:\tb\n", "1:3 a tab between words, where YAML wants spaces"),
        ("a: 1\n---\nb: 2\n", "2:1 two documents in one file"),
        ("a: {h:64, w: 1}", "1:5 'h:64' is one text, not a key and its value"),
        ("{a: b}: c", "1:1 a key is a text, not a mapping"),
        ("? [a]\n: b", "1:3 a key is a text, not a list"),
        ('"a\\nb": c', "1:1 the key 'a\\nb' holds a control character"),
        ("'': c", "1:1 a key is missing before ':'"),
        ("a: !!python/object:os.system x", "1:4 a text that starts with '!' must be quoted"),
        ("a: !!str 2.40", "1:4 a text that starts with '!' must be quoted"),
        (b"a: \xff\n", "1:4 byte 0xff is not UTF-8"),
        (b"\xff\xfea\0", "1:1 the file is UTF-16"),
        ("a: b\nc: \0", "2:4 the file holds a NUL byte"),
        ("a: \x1b[31m", "1:4 the file holds the control character U+001B"),
        ("'\\ud800': 1", None),
        ('a: "\\ud800"', "1:4 a text holds half a character"),
        ("a: [@phones]", "1:5 a text that starts with '@' must be quoted"),
        ("a: *.npz", "1:4 a text that starts with '*' must be quoted"),
        ('a: "C:\\users"', "1:7 this is no escape"),
        ("a: [1, 2\nb: 3", "1:4 the '[' is not closed"),
        ("a: {b: 1\nc: 2", "1:4 the '{' is not closed"),
        ("a: 'x\nb: 2", "1:4 the quote is not closed"),
        ("a: b: c", "1:5 a ':' where no key can stand"),
        (" a: 1\nb: 2", "2:1 the indent does not fit the lines above"),
        ("a: - b", "1:4 a '- ' where no list can start"),
        ("x" * 300_000, "1:1 the file is larger than 256 KiB"),
    ],
)
def test_traps_are_told_with_their_place(text: str | bytes, wanted: str | None) -> None:
    assert said(text) == ([wanted] if wanted else [])


def test_every_equal_key_of_a_file_is_told() -> None:
    assert said("a: 1\na: 2\nb: {c: 1, c: 2}\n") == [
        "2:1 'a' is there twice, in lines 1 and 2",
        "3:11 'c' is there twice, in lines 3 and 3",
    ]


def test_a_tree_may_be_as_deep_as_the_limit_and_no_deeper() -> None:
    assert read_nodes("r.yaml", "[" * MAX_DEPTH + "]" * MAX_DEPTH)[1] == []
    assert said("[" * 200_000) == [f"1:{MAX_DEPTH + 1} nested deeper than {MAX_DEPTH} levels"]


def test_aliases_may_not_unfold_deeper_than_the_limit() -> None:
    deep = "[" * 30 + "x" + "]" * 30

    assert said(f"a: &a {deep}\nb: {'[' * 25}*a{']' * 25}\n") == [
        f"2:29 aliases unfold deeper than {MAX_DEPTH} levels"
    ]


def test_an_alias_bomb_is_stopped_where_it_grows_too_large() -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for name, before in zip("bcdefghi", "abcdefgh", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"

    assert said(bomb) == ["6:4 aliases unfold to more than 100,000 values"]
