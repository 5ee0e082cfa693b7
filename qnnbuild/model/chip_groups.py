"""`context: {multi_soc: …}`: which chips have one binary in common, and the names of such groups.

The chips of a group that get the same model with the same options share a file. QNN calls it a
flexible context binary.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.model.chips import Chips
from qnnbuild.model.patterns import check_only, matches_chip
from qnnbuild.model.recipe import Chip
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

ALL = "multi"
"""The name of the one group of `multi_soc: true`."""


def groups_of(value: Any) -> Mapping[str, tuple[str, ...]]:
    """Names of groups → selectors, of a value that the schema has accepted."""
    if isinstance(value, Mapping):
        return {name: tuple(selectors) for name, selectors in value.items()}
    return {ALL: ("*",)} if value is True else {}


def group_of(chip: Chip, groups: Mapping[str, Sequence[str]]) -> str:
    """The name of the chip's group; "" where it has a binary of its own."""
    return next((name for name, selectors in groups.items() if _takes(selectors, chip)), "")


def wrong_groups(
    context: MappingNode | None, chips: Sequence[Chip], table: Chips
) -> Iterator[Problem]:
    """What is wrong with the groups of a recipe for these chips, as written under `context:`."""
    node = context.get("multi_soc") if context else None
    if context is None or node is None or (isinstance(node, ScalarNode) and node.value != "true"):
        return
    yield from _conflicts(context, node)
    if isinstance(node, MappingNode):
        yield from _wrong_mapping(node, chips, table)


def _conflicts(context: MappingNode, node: Node) -> Iterator[Problem]:
    share = context.get("share_weights")
    if share is not None and not (isinstance(share, ScalarNode) and share.value == "false"):
        yield Problem(
            message="graphs that share weights cannot be in a binary for several chips",
            at=node.span,
            facts=(("share_weights", str(share.span)),),
            hint="choose one of multi_soc and share_weights",
        )


def _wrong_mapping(node: MappingNode, chips: Sequence[Chip], table: Chips) -> Iterator[Problem]:
    taken: dict[str, str] = {}
    for name, entry in node.entries.items():
        if name in table:
            yield Problem(
                message=f"'{name}' is a chip, and a group of chips needs a name of its own",
                at=entry.key.span,
                hint="for example phones",
            )
        words = _texts(entry.value)
        wrong = [p for word in words if (p := check_only(word.value, word.span, table))]
        yield from wrong
        if wrong:
            continue
        mine = [chip for chip in chips if _takes([word.value for word in words], chip)]
        if not mine:
            yield Problem(
                message=f"the group '{name}' takes no chip of this recipe",
                at=entry.value.span,
                facts=(("chips", ", ".join(chip.name for chip in chips[:8])),),
            )
        for chip in mine:
            if (other := taken.setdefault(chip.name, name)) != name:
                yield Problem(
                    message=f"{chip.name} is in two groups, '{other}' and '{name}'",
                    at=entry.value.span,
                    hint=f"leave it out of one: '!{chip.name}'",
                )
                break


def _takes(selectors: Sequence[str], chip: Chip) -> bool:
    """Selectors with ! in front take away from what the others take."""
    negated = [s for s in selectors if s.strip().startswith("!")]
    others = [s for s in selectors if s not in negated]
    return any(matches_chip(s, chip) for s in others) and all(
        matches_chip(s, chip) for s in negated
    )


def _texts(node: Node) -> list[ScalarNode]:
    if isinstance(node, ListNode):
        return [item for item in node.items if isinstance(item, ScalarNode)]
    return [node] if isinstance(node, ScalarNode) else []
