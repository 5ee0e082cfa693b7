"""The schemas as editors use them: plain JSON Schema on plain YAML."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import yaml

from qnnbuild.model.schemas import RECIPE, SETTINGS, schema_text

RECIPES = sorted((Path(__file__).parents[3] / "recipes").glob("*.yaml"))
FULL = """\
model: sense-voice
license: {spdx: Apache-2.0, redistribute: true}
toolchain: ort
chips: [SM8550, SM8650, "@phones", "arch>=75"]
variants: {seconds: [5, 10, 15], p: [fp16, fp32]}
source:
  export:
    run: [python, export.py, --seconds, "{seconds}"]
    needs: export.py
    makes: "{graph}-{seconds}s.onnx"
graphs:
  encoder:
    inputs: {x: {shape: [1, "{seconds}", 560], dtype: float32}, s: {shape: []}}
    outputs: logits
    precision: "{p}"
    constants: {n: "{seconds}"}
    only: {SM8350: {precision: fp32}}
  decoder:
context: {embed: false}
bundle: {files: [tokens.txt]}
only: {"arch<73": {graphs: {decoder: {precision: fp32}}}}
"""


@pytest.mark.parametrize("name", [RECIPE, SETTINGS])
def test_a_schema_is_a_schema(name: str) -> None:
    schema = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(schema)

    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("text", [FULL, *(path.read_text(encoding="utf-8") for path in RECIPES)])
def test_an_editor_finds_no_mistake_in_a_good_recipe(text: str) -> None:
    validator = jsonschema.Draft202012Validator(json.loads(schema_text(RECIPE)))

    assert [error.message for error in validator.iter_errors(yaml.safe_load(text))] == []


def test_every_key_says_what_it_is_for() -> None:
    bare = [
        path
        for name in (RECIPE, SETTINGS)
        for path, part in properties(json.loads(schema_text(name)), name)
        if "description" not in part and "$ref" not in part
    ]

    assert bare == []


def properties(schema: object, path: str) -> list[tuple[str, dict[str, object]]]:
    found: list[tuple[str, dict[str, object]]] = []
    if isinstance(schema, list):
        for item in schema:
            found += properties(item, path)
    if isinstance(schema, dict):
        named = schema.get("properties", {})
        found += [(f"{path}.{name}", part) for name, part in named.items()]
        for key, value in schema.items():
            if key not in {"examples", "default", "enum"}:
                found += properties(value, f"{path}.{key}")
    return found
