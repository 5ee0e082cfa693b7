from __future__ import annotations

import json

import pytest

from qnnbuild.actions.action import Action, OutputOf, Provenance, SourceFiles, SourceOnnx
from qnnbuild.actions.key import key_parts
from qnnbuild.actions.why import changes, differences
from qnnbuild.digest import Json

A, B = "a" * 64, "b" * 64
ACTION = Action(
    name="context/m@SM8750",
    step="context",
    call="qnnbuild.work.context_ort:context",
    params={"shape": (1, 80), "options": {"vtcm_mb": 8, "o": None}},
    inputs={
        "model": OutputOf(action="convert/m", output="model"),
        "source": SourceOnnx(path="onnx/m.onnx"),
        "samples": SourceFiles(patterns=("calib/*.npz", "more.npz")),
        "provenance": Provenance(),
    },
    outputs=("context", "facts"),
)
INPUTS = {"model": A, "source": A, "samples": A, "provenance": A}
TOOL = {
    "package:onnxruntime": f"1.31.0 sha256:{A}",
    "code:qnnbuild.work.context_ort": f"sha256:{A}",
    "python": "cpython 3.11",
}
OLD = json.loads(json.dumps(key_parts(ACTION, INPUTS, TOOL)))  # as a record gives it back


def why(**new: Json) -> list[str]:
    return list(changes(ACTION, OLD, {**OLD, **new}))


def test_equal_parts_have_no_reason_even_where_a_list_was_a_tuple():
    assert changes(ACTION, OLD, key_parts(ACTION, INPUTS, TOOL)) == ()


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        (
            {"shape": [1, 100], "options": {"vtcm_mb": 8, "o": None}},
            "shape changed: [1, 80] → [1, 100]",
        ),
        (
            {"shape": [1, 80], "options": {"vtcm_mb": 4, "o": None}},
            "options.vtcm_mb changed: 8 → 4",
        ),
        (
            {"shape": [1, 80], "options": {"vtcm_mb": True, "o": None}},
            "options.vtcm_mb changed: 8 → true",
        ),
        (
            {"shape": [1, 80], "options": {"vtcm_mb": 8.0, "o": None}},
            "options.vtcm_mb changed: 8 → 8.0",
        ),
        ({"shape": [1, 80], "options": {"vtcm_mb": 8}}, "options.o changed: null → nothing"),
        (
            {"shape": [1, 80], "options": {"vtcm_mb": 8, "o": None, "p": "fp16"}},
            "options.p changed: nothing → fp16",
        ),
        (
            {"shape": {"x": 1}, "options": {"vtcm_mb": 8, "o": None}},
            'shape changed: [1, 80] → {"x": 1}',
        ),
        (
            {"shape": [1, 80], "options": {"vtcm_mb": 8, "o": None}, "more": {}},
            "more changed: nothing → {}",
        ),
    ],
)
def test_a_parameter_is_told_with_both_values(params, sentence):
    assert why(params=params) == [sentence]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("model", "what convert/m makes (model) changed: aaaaaaaaaaaa → bbbbbbbbbbbb"),
        ("source", "the file onnx/m.onnx changed: aaaaaaaaaaaa → bbbbbbbbbbbb"),
        ("samples", "a file of calib/*.npz, more.npz changed: aaaaaaaaaaaa → bbbbbbbbbbbb"),
        ("provenance", "the history of what it needs changed: aaaaaaaaaaaa → bbbbbbbbbbbb"),
    ],
)
def test_an_input_is_told_by_where_it_is_from(name, sentence):
    assert why(inputs={**INPUTS, name: B}) == [sentence]


def test_inputs_that_come_and_go_are_told():
    without = {name: digest for name, digest in INPUTS.items() if name != "source"}
    back = changes(ACTION, {**OLD, "inputs": without}, OLD)

    assert why(inputs={**INPUTS, "gone": A}) == ["input gone is new"]
    assert why(inputs=without) == ["input source is no longer taken"]
    assert back == ("the file onnx/m.onnx is new",)


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        (
            "package:onnxruntime",
            f"1.32.0 sha256:{B}",
            "the package onnxruntime changed: 1.31.0 aaaaaaaaaaaa → 1.32.0 bbbbbbbbbbbb",
        ),
        (
            "code:qnnbuild.work.context_ort",
            f"sha256:{B}",
            "the code of qnnbuild.work.context_ort changed: aaaaaaaaaaaa → bbbbbbbbbbbb",
        ),
        ("python", "cpython 3.12", "python changed: cpython 3.11 → cpython 3.12"),
        ("package:onnx", f"1 sha256:{B}", "the package onnx changed: nothing → 1 bbbbbbbbbbbb"),
    ],
)
def test_a_tool_is_told_with_version_and_digest(name, value, sentence):
    assert why(tool={**TOOL, name: value}) == [sentence]


def test_a_new_meaning_of_keys_is_told_as_that():
    assert why(key_version=2) == ["qnnbuild's keys have another meaning now: version 1 → 2"]


def test_everything_else_is_told_too():
    assert why(
        env={"LANG": "C"},
        call=None,
        argv=["qnn-tool", "--bits", "8"],
        outputs=["context"],
        step="compile",
    ) == [
        'the command changed: [] → ["qnn-tool", "--bits", "8"]',
        "call changed: qnnbuild.work.context_ort:context → nothing",
        "the variable LANG changed: nothing → C",
        'outputs changed: ["context", "facts"] → ["context"]',
        "step changed: context → compile",
    ]


def test_each_value_that_differs_has_its_sentence():
    assert why(
        params={"shape": [2, 80], "options": {"vtcm_mb": 2, "o": None}},
        inputs={**INPUTS, "model": B},
    ) == [
        "what convert/m makes (model) changed: aaaaaaaaaaaa → bbbbbbbbbbbb",
        "options.vtcm_mb changed: 8 → 2",
        "shape changed: [1, 80] → [2, 80]",
    ]


def test_long_values_show_where_they_differ():
    old = {**OLD, "params": {"text": "x" * 200 + "OLD" + "y" * 200}}
    new = {**OLD, "params": {"text": "x" * 200 + "new" + "y" * 200}}

    assert changes(ACTION, old, new) == (
        f"text changed: …{'x' * 20}OLD{'y' * 57}… → …{'x' * 20}new{'y' * 57}…",
    )


def test_digests_inside_of_a_value_are_shortened_and_the_rest_is_shown():
    old = {**OLD, "params": {"files": [f"a.npz {A}", "one"]}}
    new = {**OLD, "params": {"files": [f"a.npz {A}", "two"]}}

    assert changes(ACTION, old, new) == (
        'files changed: ["a.npz aaaaaaaaaaaa", "one"] → ["a.npz aaaaaaaaaaaa", "two"]',
    )


def test_a_mapping_that_is_new_is_told_value_by_value():
    assert list(differences("p", None, {"a": 1, "b": {"c": None}})) == [
        ("p.a", None, 1),
        ("p.b.c", None, "null"),
    ]
