"""`leave_out:` what of a recipe's product of variants and chips there is not: targets, or a graph.

A pattern is for variants or for chips, as under `only:`; `A & B` is for what both speak of, so
that a variant can be left out for some chips.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from qnnbuild.errors import Problem
from qnnbuild.model.chips import Chips
from qnnbuild.model.patterns import check_only, matches_chip
from qnnbuild.model.recipe import Chip
from qnnbuild.model.recipe_file import RecipeFile
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

KEY = "leave_out"


class LeftOut:
    """What a recipe leaves out. Ask only after `problems` found nothing."""

    def __init__(self, recipe: RecipeFile) -> None:
        self._recipe = recipe
        self._variants = [variant.name for variant in recipe.variants()]
        self._top = list(_patterns(recipe.root))
        self._graphs = {name: list(_patterns(entry.value)) for name, entry in recipe.graphs.items()}

    def problems(self, chips: Sequence[Chip], table: Chips) -> list[Problem]:
        """Patterns that speak of nothing, and patterns that leave nothing."""
        asked = [node for nodes in (self._top, *self._graphs.values()) for node in nodes]
        found = [p for node in asked if (p := self._unknown(node, chips, table))]
        return found or list(self._nothing_left(chips))

    def target(self, variant: str, chip: Chip) -> bool:
        return self._speaks(self._top, variant, chip)

    def graph(self, name: str, variant: str, chip: Chip) -> bool:
        return self._speaks(self._graphs[name], variant, chip)

    def _speaks(self, nodes: Iterable[ScalarNode], variant: str, chip: Chip) -> bool:
        return any(
            all(self._part(part, variant, chip) for part in _parts(node.value)) for node in nodes
        )

    def _part(self, part: str, variant: str, chip: Chip) -> bool:
        if any(fnmatchcase(name, part) for name in self._variants):
            return fnmatchcase(variant, part)
        return matches_chip(part, chip)

    def _unknown(self, node: ScalarNode, chips: Sequence[Chip], table: Chips) -> Problem | None:
        for part in _parts(node.value):
            if problem := check_only(part, node.span, table, self._variants):
                return problem
        pairs = ((variant, chip) for variant in self._variants for chip in chips)
        shared = node.span.file != self._recipe.file  # defaults of a repo may be about more
        if shared or any(self._speaks([node], *pair) for pair in pairs):
            return None
        return Problem(
            message=f"'{node.value}' leaves nothing out: no target of this recipe is so",
            at=node.span,
            hint="patterns are of variants, as 10-*, or of chips; A & B is for both at once",
        )

    def _nothing_left(self, chips: Sequence[Chip]) -> Iterator[Problem]:
        left = [
            (variant, chip)
            for variant in self._variants
            for chip in chips
            if not self.target(variant, chip)
        ]
        if not left:
            yield Problem(message="nothing of this recipe is left", at=self._top[0].span)
        for variant, chip in left:
            if all(self.graph(name, variant, chip) for name in self._graphs):
                whose = f"{variant} on {chip.name}" if variant else chip.name
                yield Problem(
                    message=f"no graph is left for {whose}",
                    at=next(node.span for nodes in self._graphs.values() for node in nodes),
                    hint="leave_out at the top of the recipe leaves out all of a target",
                )
                return


def _patterns(node: Node) -> Iterator[ScalarNode]:
    given = node.get(KEY) if isinstance(node, MappingNode) else None
    items = given.items if isinstance(given, ListNode) else (given,)
    yield from (item for item in items if isinstance(item, ScalarNode))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split("&")]
