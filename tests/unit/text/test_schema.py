"""Scalars get the type that the schema asks for, and nothing else."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qnnbuild.text.nodes import Node
from qnnbuild.text.reader import read_nodes
from qnnbuild.text.schema import Schema


def schema(rules: dict[str, Any]) -> Schema:
    return Schema.load(json.dumps(rules))


def node(text: str) -> Node:
    root, problems = read_nodes("r.yaml", text)

    assert problems == []
    assert root is not None
    return root


def typed(text: str, *types: str) -> object:
    return schema({"type": types[0] if len(types) == 1 else list(types)}).typed(node(text))


@pytest.mark.parametrize(("text", "wanted"), [("8", 8), ("-3", -3), ("0", 0), ("'8'", 8)])
def test_digits_are_a_whole_number(text: str, wanted: int) -> None:
    assert typed(text, "integer") == wanted


@pytest.mark.parametrize("text", ["010", "1_0", "8e2", "2.0", "0x10", "+1", "1:30", "x", "9" * 30])
def test_nothing_else_is_a_whole_number(text: str) -> None:
    assert typed(text, "integer") == text


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("8", 8), ("0.5", 0.5), (".5", 0.5), ("5.", 5.0), ("-1e3", -1000.0), ("1.5E-2", 0.015)],
)
def test_a_number_may_have_a_fraction_and_an_exponent(text: str, wanted: float) -> None:
    assert typed(text, "number") == wanted


@pytest.mark.parametrize("text", ["e5", "-x", ".", "1.5e", "-.", ".e1", "1e999", ".inf", "01.5"])
def test_nothing_else_is_a_number(text: str) -> None:
    assert typed(text, "number") == text


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "y", "True", "FALSE", "1"])
def test_only_true_and_false_are_truth_values(word: str) -> None:
    assert typed("true", "boolean") is True
    assert typed("false", "boolean") is False
    assert typed(word, "boolean") == word


@pytest.mark.parametrize("text", ["2.40", "no", "010", "2026-01-02", "1:30", ".inf", "true", "8"])
def test_a_text_stays_as_it_was_written(text: str) -> None:
    assert typed(text, "string") == text


def test_where_several_types_may_stand_quotes_ask_for_text() -> None:
    kinds = ("string", "integer", "number", "boolean")

    assert [typed(text, *kinds) for text in ("8", "'8'", "0.5", "true", "'true'", "no")] == [
        *(8, "8", 0.5, True, "true", "no")
    ]


def test_what_is_said_for_editors_only_does_not_count() -> None:
    rules = schema({"anyOf": [{"type": "integer"}, {"x-editor": True, "type": "string"}]})

    assert [problem.message for problem in rules.check(node("x"))] == [
        "this wants a whole number, not 'x'"
    ]


def test_what_only_an_editor_asks_for_is_not_asked_for_here() -> None:
    closed = {"x-editor": True, "$ref": "beside.json"}  # which need not be there
    rules = schema({"type": "object", "allOf": [closed]})

    assert rules.check(node("a: 1")) == []


def test_only_changed_parts_are_checked_again() -> None:
    rules = schema({"properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}})
    before = node("{a: x, b: 1}")
    after = node("{a: x, b: y}")
    again = rules.check_changed(before, before), rules.check_changed(before, after)

    assert [[problem.message for problem in problems] for problems in again] == [
        [],
        ["'a' wants a whole number, not 'x'", "'b' wants a whole number, not 'y'"],
    ]


def test_a_property_may_be_called_as_a_rule_is() -> None:
    rules = {
        "type": "object",
        "properties": {"default": {"$ref": "#/$defs/count"}},
        "$defs": {"count": {"type": "integer", "default": 1}},
    }

    assert schema(rules).typed(node("default: 3")) == {"default": 3}
