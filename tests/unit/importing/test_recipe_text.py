"""The text of a recipe: what is plain, what is quoted, what gets lines of its own."""

from __future__ import annotations

import pytest
import yaml

from qnnbuild.importing.recipe_text import Remarked, Value, recipe_text, scalar

TOP: dict[str, Value] = {
    "model": "m",
    "chips": ["SM8750", "arch>=75"],
    "graphs": {
        "a": {
            "inputs": {"x": {"shape": Remarked([1, 3], "guessed: N 1")}},
            "only": {"SM8350": {"precision": "fp32"}},
        },
        "empty": {},
    },
    "description": Remarked("long " * 30, "why it is long " * 12),
}
TEXT = """\
# yaml-language-server: $schema=s.json
# From here.
model: m
chips: [SM8750, "arch>=75"]
graphs:
  a:
    inputs:
      x:
        shape: [1, 3]  # guessed: N 1
    only: {SM8350: {precision: fp32}}
  empty: {}
# why it is long why it is long why it is long why it is long why it is long why it is long why it
# is long why it is long why it is long why it is long why it is long why it is long
"""


def test_a_recipe_is_written_as_people_write_them() -> None:
    text = recipe_text(TOP, schema="s.json", head="From here.")

    assert text == TEXT + f'description: "{"long " * 30}"\n'


TEXTS = (
    *("no", "2.40", "007", "1e3", "a: b", "#x", "{t}", "a, b", "", " x", "null", "0x1f", "ö", "-x"),
    *("x", "a/b.onnx", "../x-1.onnx", "w8a16", "true", "*", "@phones", "a #b", 'q"uote', "a]b"),
)


@pytest.mark.parametrize("text", TEXTS)
def test_every_text_is_read_as_the_text_that_it_was(text: str) -> None:
    flow = yaml.safe_load(f"{{k: {scalar(text)}}}")

    assert flow == {"k": text}
    assert yaml.safe_load(f"k: {scalar(text)}") == {"k": text}


def test_a_remark_of_a_stranger_stays_a_comment() -> None:
    text = recipe_text({"a": Remarked(1, "one\ngraphs: {}\n\n  two")}, schema="s")

    assert yaml.safe_load(text) == {"a": 1}
