"""docs/recipe.md says what schemas, repairs and options say."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from qnnbuild.model.precisions import MIN_SQNR_DB
from qnnbuild.report.recipe_reference import Schema, page, reference

PAGE = Path(__file__).parents[2] / "docs" / "recipe.md"

EXAMPLE: dict[str, Schema] = {
    "recipe.schema.json": {
        "description": "one model",
        "required": ["model"],
        "properties": {
            "model": {"description": "its name", "$ref": "#/$defs/name"},
            "speed": {"type": "integer", "minimum": 1, "maximum": 3, "default": 2},
            "source": {"$ref": "#/$defs/source"},
            "graphs": {"type": "object", "additionalProperties": {"$ref": "#/$defs/graph"}},
        },
        "$defs": {
            "name": {"type": "string", "examples": ["yes|no"]},
            "graph": {"type": "object", "properties": {"source": {"$ref": "#/$defs/source"}}},
            "source": {
                "description": "where it is from",
                "anyOf": [
                    {"x-editor": True, "type": "number"},
                    {"type": "string"},
                    {"type": "object", "properties": {"file": {"enum": ["a", "b"]}}},
                ],
            },
        },
    },
    "settings.schema.json": {
        "properties": {
            "names": {"type": "array", "items": {"$ref": "recipe.schema.json#/$defs/name"}}
        }
    },
}

WANTED = """\
## A recipe

One model.

| key | value | default | meaning |
|---|---|---|---|
| `model` | text | must be given | its name (e.g. `yes\\|no`) |
| `speed` | whole number from 1 to 3 | `2` |  |
| `source` | text or [`source`](#source) |  | where it is from |
| `graphs` | name: [`graphs.NAME`](#graphsname) |  |  |

### `source`

Where it is from.

| key | value | default | meaning |
|---|---|---|---|
| `file` | `a`, `b` |  |  |

### `graphs.NAME`

| key | value | default | meaning |
|---|---|---|---|
| `source` | text or [`source`](#source) |  | where it is from |

## `qnnbuild.yaml`

| key | value | default | meaning |
|---|---|---|---|
| `names` | list of text |  |  |
"""


def test_each_mapping_has_a_section_and_is_described_once() -> None:
    assert reference(EXAMPLE).partition("\n\n## ")[2] == WANTED.removeprefix("## ")


def test_the_page_is_what_the_package_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page())


def test_the_page_about_recipes_tells_the_bars_that_hold_without_ones_own() -> None:
    text = (PAGE.parent / "writing-recipes.md").read_text(encoding="utf-8")
    table = text.partition("| precision | dB |")[2].partition("\n\n")[0]
    told = {
        word: float(row.split("|")[2])
        for row in table.splitlines()[2:]
        for word in re.findall(r"`(\w+)`", row)
    }

    assert told == MIN_SQNR_DB
