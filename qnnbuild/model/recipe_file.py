"""A recipe as written: one file, the repo's defaults below it, checked against the schema."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.archives import filled_bundle
from qnnbuild.model.paths import unsafe_name
from qnnbuild.model.schemas import recipe_schema
from qnnbuild.model.written import fill, merged_mapping, placeholders, without
from qnnbuild.text.nodes import (
    Entry,
    ListNode,
    MappingNode,
    Node,
    ScalarNode,
    mapping_node,
    with_entries,
)
from qnnbuild.text.reader import read_mapping

RESERVED_AXES = ("model", "graph", "chip", "variant", "toolchain", "target")
MAX_VARIANTS = 1000
A_SYSTEM = "linux-x64"
"""A {target} to check names with."""

ELSEWHERE = {
    "graph": "'source' and 'graphs'",
    "chip": "'bundle'",
    "target": "'bundle.archives.library'",
}


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One choice of a recipe's free axes."""

    name: str  # "" when there are no axes
    values: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class RecipeFile:
    """What stands in a recipe, with placeholders and overrides still in it."""

    file: str
    model: str
    root: MappingNode
    graphs: Mapping[str, Entry]
    axes: Mapping[str, tuple[ScalarNode, ...]]

    @property
    def chips(self) -> tuple[ScalarNode, ...]:
        """What selects chips."""
        node = self.root.get("chips")
        items = _items(node) if node is not None else ()
        return tuple(item for item in items if isinstance(item, ScalarNode))

    def variants(self) -> Iterator[Variant]:
        """Every combination of the axes' values, the last axis changing fastest."""
        for chosen in itertools.product(*self.axes.values()):
            texts = [node.value for node in chosen]
            yield Variant(name="-".join(texts), values=dict(zip(self.axes, texts, strict=True)))


def read_recipe_file(
    file: str, text: str | bytes, defaults: MappingNode | None = None
) -> tuple[RecipeFile | None, list[Problem]]:
    """The recipe, or everything that is wrong with it whatever the chips are."""
    root, problems = read_mapping(file, text, "recipe")
    if root is None:
        return None, problems
    root = _with_defaults(root, defaults)
    recipe = RecipeFile(
        file=file,
        model=_text(root.get("model")),
        root=root,
        graphs=_entries(root.get("graphs")),
        axes={
            name: tuple(item for item in _items(entry.value) if isinstance(item, ScalarNode))
            for name, entry in _entries(root.get("variants")).items()
        },
    )
    filling: list[Problem] = []
    sample = _sample(recipe, filling)
    told = {problem.at for problem in filling}
    schema = [problem for problem in recipe_schema().check(sample) if problem.at not in told]
    problems = [*problems, *filling, *schema]
    if not problems:
        problems = [*_names(recipe), *_axes(recipe), *_sources(recipe), *_overrides(recipe)]
    return (None if problems else recipe), problems


def overrides_of(node: MappingNode) -> list[tuple[ScalarNode, MappingNode]]:
    """The patterns under `only:` and what they change, in the order of the file."""
    only = node.mapping("only")
    entries = only.entries.values() if only else ()
    return [(e.key, e.value) for e in entries if isinstance(e.value, MappingNode)]


def filled(top: MappingNode, values: Mapping[str, str], problems: list[Problem]) -> MappingNode:
    """All of a recipe's values filled, but for graphs and sources, which need a graph's name."""
    entries = dict(top.entries)
    for name, entry in top.entries.items():
        if name in {"model", "chips", "variants", "leave_out", "graphs", "source", "only"}:
            continue
        if name == "bundle":
            full = filled_bundle(entry.value, values, problems, {**values, "target": A_SYSTEM})
        else:
            full = fill(entry.value, _but_chip(values), problems, ELSEWHERE)
        entries[name] = Entry(entry.key, full)
    return with_entries(top, entries) if top.braces else top


def filled_graph(name: str, node: Node, values: Mapping[str, str], problems: list[Problem]) -> Node:
    return fill(node, {**_but_chip(values), "graph": name}, problems, ELSEWHERE)


def _but_chip(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != "chip"}


def _with_defaults(root: MappingNode, defaults: MappingNode | None) -> MappingNode:
    """The recipe over the repo's defaults. Without graphs it has one, named like the model."""
    usual = defaults.mapping("graph") if defaults else None
    if defaults:
        at = root.span
        root = merged_mapping(without(defaults, "graph"), root)
        root = mapping_node(root.entries, at)
    graphs = root.entries.get("graphs")
    model = root.get("model")
    if graphs is None and isinstance(model, ScalarNode) and not model.empty:
        empty = mapping_node({}, model.span)
        graphs = Entry(model, mapping_node({model.value: Entry(model, empty)}, model.span))
    if graphs is None or not isinstance(graphs.value, MappingNode):
        return root
    entries = {
        name: Entry(entry.key, _graph(entry, usual)) for name, entry in graphs.value.entries.items()
    }
    value = with_entries(graphs.value, entries)
    return with_entries(root, {**root.entries, "graphs": Entry(graphs.key, value)})


def _graph(entry: Entry, usual: MappingNode | None) -> Node:
    node = entry.value
    if isinstance(node, ScalarNode) and node.empty:
        node = mapping_node({}, entry.key.span)
    return merged_mapping(usual, node) if usual and isinstance(node, MappingNode) else node


def _sample(recipe: RecipeFile, problems: list[Problem]) -> MappingNode:
    """The recipe as it is for the first values of its axes: what can be checked by the schema."""
    first = {name: values[0].value for name, values in recipe.axes.items() if values}
    values = {"model": recipe.model, **first, "chip": "SM8750"}
    return _sample_of(recipe.root, values, next(iter(recipe.graphs), recipe.model), problems)


def _sample_of(
    top: MappingNode, values: Mapping[str, str], graph: str, problems: list[Problem]
) -> MappingNode:
    top = filled(top, values, problems)
    entries = dict(top.entries)
    if source := top.entries.get("source"):
        entries["source"] = Entry(source.key, filled_graph(graph, source.value, values, problems))
    for name in ("graphs", "only"):
        inner = top.mapping(name)
        if inner is None or not inner.braces:
            continue
        parts = {
            key: Entry(
                entry.key,
                _sample_of(entry.value, values, graph, problems)
                if name == "only" and isinstance(entry.value, MappingNode)
                else filled_graph(key, entry.value, values, problems),
            )
            for key, entry in inner.entries.items()
        }
        entries[name] = Entry(top.entries[name].key, with_entries(inner, parts))
    return with_entries(top, entries) if top.braces else top


def _names(recipe: RecipeFile) -> Iterator[Problem]:
    model = recipe.root.get("model")
    assert isinstance(model, ScalarNode)
    yield from _unsafe(model)
    folded: dict[str, ScalarNode] = {}
    for entry in recipe.graphs.values():
        if entry.key is not model:
            yield from _unsafe(entry.key)
        first = folded.setdefault(entry.key.value.casefold(), entry.key)
        if first is not entry.key:
            yield _one_folder("graph", first, entry.key)


def _axes(recipe: RecipeFile) -> Iterator[Problem]:
    entries = _entries(recipe.root.get("variants"))
    used = placeholders(without(recipe.root, "variants"))
    for name, values in recipe.axes.items():
        at = entries[name].key.span
        if name in RESERVED_AXES:
            yield Problem(
                message=f"an axis may not be called '{name}'",
                at=at,
                hint=f"{{{name}}} has a meaning of its own",
            )
        for value in values:
            yield from _unsafe(value)
        if name not in used and not _patterns(recipe):
            hint = f"put {{{name}}} where the variants differ, or leave the axis out"
            yield Problem(message=f"nothing uses the axis '{name}'", at=at, hint=hint)
    number = math.prod(len(values) for values in recipe.axes.values())
    if number > MAX_VARIANTS:
        message = f"{number:,} variants are more than {MAX_VARIANTS:,}"
        yield Problem(message=message, at=recipe.root.entries["variants"].key.span)
    else:
        yield from _same_folder(recipe)


def _same_folder(recipe: RecipeFile) -> Iterator[Problem]:
    """The first two variants that would fall together."""
    folded: dict[str, Variant] = {}
    for variant in recipe.variants():
        first = folded.setdefault(variant.name.casefold(), variant)
        if first is not variant:
            message = f"two variants are called '{first.name}'"
            if first.name != variant.name:
                message = f"the variants '{first.name}' and '{variant.name}' share a file name"
            yield _two_variants(recipe, first, variant, message)
            return


def _two_variants(recipe: RecipeFile, first: Variant, second: Variant, message: str) -> Problem:
    """At the value that makes them fall together, if it is one; with the place of the other."""
    differing = [axis for axis in recipe.axes if first.values[axis] != second.values[axis]]
    if len(differing) != 1:
        return Problem(message=message, at=recipe.root.entries["variants"].key.span)
    (axis,) = differing
    places = {node.value: node.span for node in recipe.axes[axis]}
    facts = (("first", str(places[first.values[axis]])),)
    hint = "on many disks upper and lower case are the same"
    return Problem(message=message, at=places[second.values[axis]], facts=facts, hint=hint)


def _sources(recipe: RecipeFile) -> Iterator[Problem]:
    if "source" in recipe.root:
        return
    for name, entry in recipe.graphs.items():
        graph = entry.value
        if not (isinstance(graph, MappingNode) and "source" in graph):
            alone = len(recipe.graphs) == 1
            yield Problem(
                message="'source' is missing" + ("" if alone else f" for the graph '{name}'"),
                at=recipe.root.span if alone else entry.key.span,
                hint="source: exactly one of file, url, pypi, hub, export",
            )


def _overrides(recipe: RecipeFile) -> Iterator[Problem]:
    for _, change in overrides_of(recipe.root):
        graphs = change.mapping("graphs")
        for name, entry in graphs.entries.items() if graphs else ():
            if name not in recipe.graphs:
                known = f"graphs here: {', '.join(recipe.graphs)}"
                yield Problem(
                    message=f"no graph of this recipe is named '{name}'",
                    at=entry.key.span,
                    hint=did_you_mean(name, recipe.graphs, otherwise=known),
                )


def _patterns(recipe: RecipeFile) -> bool:
    """Whether overrides may tell variants apart."""
    nodes = [recipe.root, *(entry.value for entry in recipe.graphs.values())]
    return any(
        "only" in node or "leave_out" in node for node in nodes if isinstance(node, MappingNode)
    )


def _unsafe(node: ScalarNode) -> Iterator[Problem]:
    if why := unsafe_name(node.value):
        yield Problem(message=f"'{node.value}' {why}", at=node.span)


def _one_folder(what: str, first: ScalarNode, second: ScalarNode) -> Problem:
    return Problem(
        message=f"the {what}s '{first.value}' and '{second.value}' share a file name",
        at=second.span,
        facts=(("first", str(first.span)),),
        hint="on many disks upper and lower case are the same",
    )


def _entries(node: Node | None) -> Mapping[str, Entry]:
    return node.entries if isinstance(node, MappingNode) else {}


def _items(node: Node) -> tuple[Node, ...]:
    return node.items if isinstance(node, ListNode) else (node,)


def _text(node: Node | None) -> str:
    return node.value if isinstance(node, ScalarNode) else ""
