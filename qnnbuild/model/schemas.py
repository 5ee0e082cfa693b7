"""The JSON Schemas that come with the package."""

from __future__ import annotations

from functools import cache
from importlib import resources

from qnnbuild.text.schema import Schema

RECIPE = "recipe.schema.json"
SETTINGS = "settings.schema.json"
EVENTS = "events.schema.json"


def schema_text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def recipe_schema() -> Schema:
    return Schema.load(schema_text(RECIPE))


@cache
def settings_schema() -> Schema:
    return Schema.load(schema_text(SETTINGS), {RECIPE: schema_text(RECIPE)})
