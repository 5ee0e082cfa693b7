from __future__ import annotations

from dataclasses import replace

import pytest

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.key import KEY_VERSION, key_of, key_parts
from qnnbuild.errors import Span

ACTION = Action(
    name="context/m/g@SM8750",
    step="context",
    call="qnnbuild.work.context_ort:context",
    params={"shape": (1, 3), "options": {"vtcm_mb": 8}},
    inputs={"model": OutputOf(action="convert/m/g", output="model")},
    outputs=("context", "facts"),
    tools=("package:onnxruntime",),
    env={"LANG": "C"},
)
INPUTS = {"model": "a" * 64}
TOOL = {"package:onnxruntime": "1.32.0 sha256:" + "b" * 64}


def key(action: Action, inputs: dict[str, str] = INPUTS, tool: dict[str, str] = TOOL) -> str:
    return key_of(key_parts(action, inputs, tool))


def test_the_parts_are_all_that_can_change_the_output():
    assert key_parts(ACTION, INPUTS, TOOL) == {
        "key_version": KEY_VERSION,
        "step": "context",
        "call": "qnnbuild.work.context_ort:context",
        "argv": [],
        "params": {"shape": [1, 3], "options": {"vtcm_mb": 8}},
        "inputs": {"model": "a" * 64},
        "outputs": ["context", "facts"],
        "tool": {"package:onnxruntime": "1.32.0 sha256:" + "b" * 64},
        "env": {"LANG": "C"},
    }


@pytest.mark.parametrize(
    "other",
    [
        {"name": "another"},
        {"group": "model"},
        {"about": "a line"},
        {"lands": "m/SM8750"},
        {"deadline_s": 1.0},
        {"passes": ("PIP_*",)},
        {"places": {"source": Span(file="x", line=1, column=1)}},
        {"inputs": {"model": OutputOf(action="another/name", output="other")}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_cannot_change_the_output_is_not_in_the_key(other):
    assert key(replace(ACTION, **other)) == key(ACTION)


@pytest.mark.parametrize(
    "other",
    [
        {"step": "convert"},
        {"call": "qnnbuild.work.context_ort:other"},
        {"call": None, "argv": ("qnn-context-binary-generator",)},
        {"params": {"shape": (1, 4), "options": {"vtcm_mb": 8}}},
        {"outputs": ("context",)},
        {"env": {"LANG": "C.UTF-8"}},
    ],
    ids=lambda other: next(iter(other)),
)
def test_what_can_change_the_output_is_in_the_key(other):
    assert key(replace(ACTION, **other)) != key(ACTION)


def test_contents_and_tools_are_in_the_key():
    assert key(ACTION, {"model": "c" * 64}) != key(ACTION)
    assert key(ACTION, INPUTS, {"package:onnxruntime": "1.32.1"}) != key(ACTION)


def test_a_parameter_that_json_has_no_form_for_is_refused():
    with pytest.raises(TypeError) as caught:
        key_parts(replace(ACTION, params={"when": object()}), INPUTS, TOOL)  # type: ignore[dict-item]

    assert str(caught.value) == "object has no form in JSON"
