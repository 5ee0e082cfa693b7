"""Recipes → targets: model × variant × chip, every override applied, every placeholder filled."""

from __future__ import annotations

import re
from collections.abc import Sequence

from qnnbuild.errors import Problem, RecipeError
from qnnbuild.model.chips import Chips
from qnnbuild.model.patterns import select
from qnnbuild.model.recipe import ARCHIVES, DUMPS, ON_DEVICE, Chip, Target
from qnnbuild.model.recipe_file import RecipeFile, read_recipe_file
from qnnbuild.model.resolve import Resolver
from qnnbuild.model.settings import Settings
from qnnbuild.text.complaints import in_order
from qnnbuild.text.nodes import ScalarNode

Files = Sequence[tuple[str, str | bytes]]
"""Paths relative to the repo's root, and what stands in them."""


def read_recipes(files: Files, chips: Chips, settings: Settings | None = None) -> list[Target]:
    """All targets of all recipes. Raises RecipeError with everything that is wrong."""
    targets, problems = read_good_recipes(files, chips, settings)
    if problems:
        raise RecipeError.of(problems)
    return targets


def read_good_recipes(
    files: Files, chips: Chips, settings: Settings | None = None
) -> tuple[list[Target], list[Problem]]:
    """The targets of the recipes that are right, and what is wrong with the others."""
    defaults = settings.defaults if settings else None
    select_once = _Selection(chips)
    targets: list[Target] = []
    problems: list[Problem] = []
    models: dict[str, ScalarNode] = {}
    for file, text in files:
        found: list[Target] = []
        recipe, wrong = read_recipe_file(file, text, defaults)
        if recipe is not None:
            wrong = _same_model(recipe, models)
        if recipe is not None and not wrong:
            found, wrong = _targets(recipe, select_once)
        targets += [] if wrong else found
        problems += in_order(wrong)
    return targets, problems


class _Selection:
    """Looks chips up; most recipes of a repo ask for the same ones."""

    def __init__(self, chips: Chips) -> None:
        self.chips = chips
        self._known: dict[tuple[str, ...], tuple[Chip, ...]] = {}

    def __call__(self, nodes: Sequence[ScalarNode]) -> tuple[Chip, ...]:
        texts = tuple(node.value for node in nodes)
        if texts not in self._known:
            patterns = [(node.value, node.span) for node in nodes]
            self._known[texts] = select(patterns, self.chips)
        return self._known[texts]


def _targets(recipe: RecipeFile, selection: _Selection) -> tuple[list[Target], list[Problem]]:
    """The targets of one recipe, variant by variant, chips in the table's order."""
    try:
        selected = selection(recipe.chips)
    except RecipeError as error:
        return [], [_quote_hint(problem, recipe) for problem in error.problems]
    resolver = Resolver(recipe, selected, selection.chips)
    problems = resolver.wrong_patterns() or resolver.wrong_values()
    return ([], problems) if problems else (resolver.targets(), resolver.problems)


def _same_model(recipe: RecipeFile, models: dict[str, ScalarNode]) -> list[Problem]:
    name = recipe.root.get("model")
    assert isinstance(name, ScalarNode)
    for folder in (DUMPS, ARCHIVES, ON_DEVICE):
        if name.value.casefold() == folder:
            return [Problem(message=f"build/{folder}/ is where {folder} land", at=name.span)]
    first = models.setdefault(name.value.casefold(), name)
    if first is name:
        return []
    message = f"a model is called '{first.value}' already"
    return [Problem(message=message, at=name.span, facts=(("first", str(first.span)),))]


_NUMBER_TO_SOME = re.compile(r"0[0-9]+|[0-9.]+[eE][-+]?[0-9]+|[0-9]+(?:_[0-9]+)+|0x[0-9a-fA-F]+")


def _quote_hint(problem: Problem, recipe: RecipeFile) -> Problem:
    """What other readers of YAML take for a number should be in quotes, whatever it means."""
    for node in recipe.chips:
        if node.span == problem.at and not node.quoted and _NUMBER_TO_SOME.fullmatch(node.value):
            return Problem(
                message=problem.message,
                at=problem.at,
                hint=f"other readers of YAML take {node.value} for a number: quote it, "
                "or write a part number like SM8650",
            )
    return problem
