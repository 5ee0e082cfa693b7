"""docs/ort-options.md and the schema for editors say what the data of the options says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from qnnbuild.model.schemas import RECIPE, recipe_schema
from qnnbuild.model.schemas import schema_text as packaged
from qnnbuild.report.ort_options_reference import page, schema, schema_text
from qnnbuild.toolchains.ort_options import BY_NAME, settable

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/ort-options.md"
SCHEMA = ROOT / "qnnbuild/model/ort_options.schema.json"


def test_the_page_is_what_the_data_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page())


def test_the_schema_for_editors_is_what_the_data_says(golden: Callable[[Path, str], None]) -> None:
    golden(SCHEMA, schema_text())


def test_every_option_has_a_row() -> None:
    text = page()

    assert [name for name in BY_NAME if f"| `{name}` |" not in text] == []


def test_an_editor_finds_the_schema_beside_the_recipes() -> None:
    recipe = json.loads(packaged(RECIPE))
    (reference,) = recipe["$defs"]["options"]["properties"]["ort"]["allOf"]

    assert reference == {"x-editor": True, "$ref": SCHEMA.name}
    assert schema()["properties"].keys() == {option.name for option in settable()}


@pytest.mark.parametrize(
    ("given", "good"),
    [
        ({"vtcm_mb": 4, "htp_performance_mode": "burst", "extended_udma": True}, True),
        ({"vtcm_mb": "{size}"}, True),
        ({"vtcm_mb": 0}, False),
        ({"vtcm_mb": "four"}, False),
        ({"vtcm": 4}, False),
        ({"htp_performance_mode": "brust"}, False),
        ({"extended_udma": 2}, False),
        ({"htp_graph_finalization_optimization_mode": 4}, False),
    ],
)
def test_an_editor_sees_bad_values(given: dict[str, Any], good: bool) -> None:
    recipe = Resource.from_contents(json.loads(packaged(RECIPE)))
    beside = Registry().with_resource(RECIPE, recipe)

    assert Draft202012Validator(schema(), registry=beside).is_valid(given) == good


def test_the_checker_leaves_options_to_the_toolchain_whose_words_are_better() -> None:
    ort = recipe_schema().part("graphs", "any", "options", "ort").rules

    assert "properties" not in ort
    assert not ort.get("allOf")
