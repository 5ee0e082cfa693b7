"""Whatever stands in a file, reading it ends with a tree or with problems, never otherwise."""

from __future__ import annotations

from functools import cache

import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from qnnbuild.errors import Problem
from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.text import reader
from qnnbuild.text.nodes import ListNode, Node, ScalarNode
from qnnbuild.text.reader import read_nodes
from qnnbuild.text.render import as_json, github, terminal

# fmt: off
WORDS = st.sampled_from([
    "a:", "b", ":b", "{a}", "{{", "}}", "{graph}", "[", "]", "{", "}", ",", "-", "?", "|", ">", "&",
    "*", "&a", "*a", "<<:", "!", "!!str", "%", "@", "`", "'", '"', "#", "~", "null", "1", "010",
    "1e3", "-1", ".5", "0x1", "true", "no", "model:", "license:", "source:", "chips:", "graphs:",
    "inputs:", "shape:", "only:", "variants:", "file:", "x", "SM8550", "@phones", "arch>=75",
    "../x", "C:\\x", "\\u", "\\ud800", '"\\x00"', "模", "é", "\u2028", "\x85", "\ufeff", "---",
    "...", "\n", "\n  ", "\n- ", "\t", "\r\n", " ", "\0", "\x07", ": ", "\n    ",
])
# fmt: on
TEXTS = st.lists(WORDS, max_size=30).map("".join) | st.text(max_size=60)
BYTES = TEXTS.map(lambda text: text.encode("utf-8", "surrogatepass")) | st.binary(max_size=60)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS | BYTES)
@example("'a\\ud800': 3")
@example('"\\UFFFFFFFF": 3')
@example("[" * 3000)
@example("? " * 3000)
@example("a: &a [*a]")
@example(b"\xff\xfea\x00")
def test_any_text_is_a_tree_or_problems(text: str | bytes) -> None:
    root, problems = read_nodes("any.yaml", text)

    assert root is None or isinstance(root, Node)
    assert terminal(problems).count("any.yaml:") >= len(problems)
    assert len(github(problems).splitlines()) == len(as_json(problems)) == len(problems)


@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_the_parser_in_c_and_the_one_in_python_agree(text: str) -> None:
    fast = read_nodes("any.yaml", text)
    with_c, reader._FAST = reader._FAST, yaml.SafeLoader
    try:
        slow = read_nodes("any.yaml", text)
    finally:
        reader._FAST = with_c

    assert told(*fast) == told(*slow)


def told(root: Node | None, problems: list[Problem]) -> object:
    return seen(root), [(p.message, p.hint, p.at and (p.at.line, p.at.column)) for p in problems]


def seen(node: Node | None) -> object:
    """A tree as a user sees it; where nothing is written there is no place to agree on."""
    if node is None:
        return None
    if isinstance(node, ScalarNode):
        return node.value, node.quoted, node.span if node.value else None
    if isinstance(node, ListNode):
        return [seen(item) for item in node.items]
    return {name: (seen(e.key), seen(e.value)) for name, e in node.entries.items()}


# fmt: off
INNER_KEYS = st.sampled_from([
    "file", "url", "pypi", "hub", "export", "sha256", "member", "run", "needs", "makes", "shape",
    "dtype", "range", "ort", "a", "spdx", "graphs", "source", "inputs", "outputs", "precision",
    "only", "SM8550", "SM9", "files", "embed", "options", "x",
])
KEYS = st.sampled_from([
    "model", "license", "source", "chips", "variants", "graphs", "context", "bundle", "only",
    "toolchain", "description", "x",
])
# fmt: on
VALUES = st.recursive(
    st.sampled_from(
        ["a", "1", "{graph}", "{x}", "{", "x.onnx", "SM8550", "true", "[]", "~", '"a\\n"', "../.."]
    ),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{', '.join(items)}]")
        | st.dictionaries(INNER_KEYS, inner, max_size=3).map(
            lambda items: "{" + ", ".join(f"{k}: {v}" for k, v in items.items()) + "}"
        )
    ),
    max_leaves=12,
)
SOUND = "model: m\nlicense: MIT\nchips: SM8550\nsource: {file: a.onnx}\n"


@cache
def chips() -> Chips:
    return packaged_chips()


@settings(max_examples=300, deadline=None)
@given(given=st.dictionaries(KEYS, VALUES, max_size=4), sound=st.booleans())
def test_any_recipe_is_targets_or_problems(given: dict[str, str], sound: bool) -> None:
    lines = dict(line.split(": ", 1) for line in SOUND.splitlines()) if sound else {}
    text = "".join(f"{key}: {value}\n" for key, value in {**lines, **given}.items())
    targets, problems = read_good_recipes([("recipes/any.yaml", text)], chips())

    assert bool(targets) != bool(problems)
    assert all(problem.at is not None for problem in problems)
