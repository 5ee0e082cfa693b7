from __future__ import annotations

import json

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.actions.key import key_parts
from qnnbuild.actions.record import Record, Tree
from qnnbuild.digest import digest_json

ACTION = Action(
    name="convert/m",
    step="convert",
    call="x:y",
    params={"shape": (1, 80), "names": ("ü",)},
    outputs=("model",),
)
RECORD = Record(
    key="a" * 64,
    name="convert/m",
    step="convert",
    parts=key_parts(ACTION, {}, {}),
    outputs={"model": Tree(files={"model.onnx": ("b" * 64, 10), "model.data": ("c" * 64, 90)})},
    warnings=("recipes/x.yaml:7:3: input 'ü' is not used",),
    seconds=1.5,
    peak_bytes=1 << 33,
    made="2026-01-02T03:04:05+00:00",
)


def test_a_record_comes_back_as_it_was():
    assert Record.from_json(RECORD.to_json()) == RECORD


def test_a_record_is_text_with_a_fixed_order():
    text = RECORD.to_json()

    assert json.loads(text) == json.loads(Record.from_json(text).to_json())
    assert Record.from_json(text).to_json() == text
    assert "input 'ü'" in text


@pytest.mark.parametrize(
    "text",
    [
        "",
        RECORD.to_json()[:-20],
        "[]",
        "null",
        '"text"',
        "{}",
        '{"outputs": []}',
        '{"outputs": {"o": {"files": []}}}',
        '{"outputs": {"o": {"files": {"a": ["b"]}}}, "warnings": []}',
        RECORD.to_json().replace('"peak_bytes"', '"peak_bites"'),
        RECORD.to_json().replace('"warnings"', '"w"'),
    ],
)
def test_text_that_is_no_record_is_refused(text):
    with pytest.raises(ValueError):
        Record.from_json(text)


def test_a_tree_has_the_digest_of_contents_and_names():
    tree = RECORD.outputs["model"]

    assert tree.size == 100
    assert tree.digest == digest_json({"model.onnx": "b" * 64, "model.data": "c" * 64})
    assert tree.digest != Tree(files={"model.onnx": ("b" * 64, 10)}).digest


def test_the_order_of_its_files_does_not_change_a_tree():
    files = RECORD.outputs["model"].files
    turned = Tree(files=dict(reversed(list(files.items()))))

    assert turned.digest == RECORD.outputs["model"].digest


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"outputs": {"o": {"files": {"f": ["d", 1e999]}}}}']
)
def test_a_text_without_end_is_no_record(text: str):
    with pytest.raises(ValueError, match="not a record"):
        Record.from_json(text)
