"""docs/coverage.md says what its data say, and every test that it names is there."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from qnnbuild.model.schemas import RECIPE, schema_text
from qnnbuild.toolchains.ort_options import BY_NAME
from tests.conftest import Golden
from tools.coverage import PAGE, ROOT, Row, features, options, page

ROWS = [row for rows in (*features().values(), *options().values()) for row in rows]


def test_the_page_is_what_the_data_say(golden: Golden):
    golden(PAGE, page())


def test_every_documented_option_has_a_row():
    told = [row.what for rows in options().values() for row in rows]
    documented = [f"`{name}`" for name, option in BY_NAME.items() if option.documented]

    assert sorted(told) == sorted(documented)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.what)
def test_a_row_has_an_answer(row: Row):
    assert row.what
    assert row.recipe
    assert row.note if row.how == "outside" else row.where


def test_every_key_that_says_an_option_is_one_of_a_recipe():
    elsewhere = [one for one in BY_NAME.values() if one.documented and not one.settable]
    told = {option.recipe for option in elsewhere}

    assert sorted(key for key in told if not is_key(key)) == []


def is_key(path: str) -> bool:
    """Of a recipe or of one of its graphs: `context.embed`, `run.perf_mode`."""
    document = json.loads(schema_text(RECIPE))
    for start in (document, document["$defs"]["graph"]):
        found = start
        for name in path.split("."):
            found = resolved(document, found).get("properties", {}).get(name, {})
        if found:
            return True
    return False


def resolved(document: Any, rules: Any) -> Any:
    return document["$defs"][rules["$ref"].rpartition("/")[2]] if "$ref" in rules else rules


def test_nothing_is_ignored():
    assert re.findall("ignored|not supported yet|todo|later", page(), re.IGNORECASE) == []


@pytest.mark.parametrize("place", sorted({place for row in ROWS for place in row.where}))
def test_a_test_that_is_named_is_there(place: str):
    file, _, function = place.partition("::")
    path = ROOT / file

    assert path.is_file()
    assert not function or f"\ndef {function}(" in path.read_text(encoding="utf-8")


def test_no_feature_stands_twice():
    told = [row.what for row in ROWS]

    assert sorted({what for what in told if told.count(what) > 1}) == []
