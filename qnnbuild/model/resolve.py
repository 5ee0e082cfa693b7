"""One recipe → its targets: every override applied, every placeholder filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from qnnbuild.errors import Problem, Span
from qnnbuild.model.archives import bundle_options
from qnnbuild.model.chip_groups import group_of, groups_of, wrong_groups
from qnnbuild.model.chips import Chips
from qnnbuild.model.graphs import add_places, graph_of, license_of
from qnnbuild.model.in_one_binary import InOneBinary
from qnnbuild.model.left_out import LeftOut
from qnnbuild.model.patterns import check_only, matches_chip, parse
from qnnbuild.model.recipe import BundleOptions, Chip, ContextOptions, Graph, License, Target
from qnnbuild.model.recipe_file import RecipeFile, Variant, filled, filled_graph, overrides_of
from qnnbuild.model.schemas import recipe_schema
from qnnbuild.model.sdks import is_sdk
from qnnbuild.model.verify import (
    computed_in_fp16,
    expectation_of,
    failing_patterns,
    wrong_patterns,
)
from qnnbuild.model.written import merged_mapping, without
from qnnbuild.text.nodes import MappingNode, Node, ScalarNode, with_entries
from qnnbuild.text.schema import Schema

Hits = tuple[bool, ...]
"""For each override of a recipe, whether it applies."""

SHOWN_CHIPS = 8
SHARED: Mapping[bool | str, tuple[str, ...]] = {
    False: (),
    True: ("graphs", "variants"),
    "graphs": ("graphs",),
    "variants": ("variants",),
}
FOR_ALL_GRAPHS = ("source", "expect_failure")


@dataclass(frozen=True, kw_only=True)
class Override:
    """A pattern under `only:` and what it changes, of the whole recipe or of one graph."""

    pattern: str
    span: Span
    change: MappingNode
    graph: str | None = None

    def touches(self, graph: str) -> bool:
        if self.graph is not None:
            return self.graph == graph
        graphs = self.change.mapping("graphs")
        all_graphs = any(key in self.change for key in FOR_ALL_GRAPHS)
        return all_graphs or (graphs is not None and graph in graphs)


@dataclass(frozen=True, kw_only=True)
class Rest:
    """What a target has beside its graphs, for all chips that the same overrides hit."""

    top: MappingNode
    bundle: MappingNode | None  # {chip} still in it
    license: License
    toolchain: str
    context: ContextOptions
    places: Mapping[str, Span]


class Resolver:
    """Work that many targets share is done once: chips that the same overrides hit are alike."""

    def __init__(self, recipe: RecipeFile, chips: tuple[Chip, ...], table: Chips) -> None:
        self.problems: list[Problem] = []
        self._recipe = recipe
        self._chips = chips
        self._table = table
        self._variants = list(recipe.variants())
        self._overrides = list(_overrides(recipe))
        self._nodes: dict[object, MappingNode] = {}
        self._graphs: dict[object, Graph] = {}
        self._failing: dict[int, tuple[Graph, Graph]] = {}
        self._rests: dict[object, Rest] = {}
        self._bundles: dict[object, BundleOptions] = {}
        self._left_out = LeftOut(recipe)
        self._in_one_binary = InOneBinary()

    def wrong_patterns(self) -> list[Problem]:
        """Patterns under `only:` that can match nothing of this recipe."""
        names = [variant.name for variant in self._variants]
        problems = []
        for override in self._overrides:
            wrong = check_only(override.pattern, override.span, self._table, names)
            wrong = wrong or self._never(override.pattern, override.span)
            if wrong:
                problems.append(wrong)
        for top in (self._recipe.root, *(o.change for o in self._overrides if o.graph is None)):
            problems += wrong_groups(top.mapping("context"), self._chips, self._table)
        return problems or self._left_out.problems(self._chips, self._table)

    def wrong_values(self) -> list[Problem]:
        """What the schema refuses once overrides are applied and placeholders filled."""
        if not self._overrides and not self._recipe.root.braces:
            return []  # all is as the reader has checked it
        problems: list[Problem] = []
        first: dict[tuple[str, ...], Node] = {}
        seen: dict[int, Node] = {}  # the nodes too, so that no id is used again

        def check(schema: Schema, place: tuple[str, ...], node: Node) -> None:
            if id(node) in seen:
                return
            seen[id(node)] = node
            base = first.setdefault(place, node)
            same = base is node
            problems.extend(
                schema.check(node, place) if same else schema.check_changed(base, node, place)
            )

        for hits in self._groups:
            for variant in self._variants:
                applied = self._applied(hits, variant)
                for name in self._recipe.graphs:
                    schema = recipe_schema().part("graphs", name)
                    check(schema, ("graphs", name), self._graph_node(name, variant, applied)[1])
                top = filled(self._top(applied), self._values(variant), problems)
                for key in ("license", "toolchain", "context", "bundle"):
                    if (value := top.get(key)) is not None:
                        check(recipe_schema().part(key), (key,), value)
        return problems

    def targets(self) -> list[Target]:
        """Variant by variant, chips in their order. Only after `wrong_values` found nothing."""
        made: dict[tuple[str, str], Target] = {}
        for hits, chips in self._groups.items():
            graphs = self._graphs_of_variants(hits)
            for variant, of_variant in zip(self._variants, graphs, strict=True):
                rest = self._rest(variant, self._applied(hits, variant))
                for chip in chips:
                    if self._left_out.target(variant.name, chip):
                        continue
                    told = tuple(
                        self._expecting(graph, variant, chip, hits)
                        for graph in of_variant
                        if not self._left_out.graph(graph.name, variant.name, chip)
                    )
                    called = self._in_one_binary.called(told, variant.name, rest.context)
                    made[variant.name, chip.name] = self._target(variant, chip, called, rest)
        asked = [(variant.name, chip.name) for variant in self._variants for chip in self._chips]
        return [made[one] for one in asked if one in made]

    def _never(self, pattern: str, at: Span) -> Problem | None:
        """What a whole repo has in common may be about chips that a recipe has not."""
        if (
            at.file != self._recipe.file
            or any(matches_chip(pattern, chip) for chip in self._chips)
            or any(fnmatchcase(variant.name, pattern) for variant in self._variants)
        ):
            return None
        names = [chip.name for chip in self._chips]
        more = f" and {len(names) - SHOWN_CHIPS} more" if len(names) > SHOWN_CHIPS else ""
        return Problem(
            message=f"'{pattern}' matches no chip and no variant of this recipe",
            at=at,
            facts=(("chips", ", ".join(names[:SHOWN_CHIPS]) + more),),
        )

    @cached_property
    def _groups(self) -> dict[Hits, list[Chip]]:
        """Chips by which overrides hit them."""
        groups: dict[Hits, list[Chip]] = {}
        for chip in self._chips:
            hits = tuple(matches_chip(o.pattern, chip) for o in self._overrides)
            groups.setdefault(hits, []).append(chip)
        return groups

    def _applied(self, hits: Hits, variant: Variant) -> Hits:
        return tuple(
            hit or fnmatchcase(variant.name, override.pattern)
            for hit, override in zip(hits, self._overrides, strict=True)
        )

    def _used(self, applied: Hits) -> list[Override]:
        return [o for hit, o in zip(applied, self._overrides, strict=True) if hit]

    def _values(self, variant: Variant, chip: str = "SM8750") -> dict[str, str]:
        return {"model": self._recipe.model, **variant.values, "chip": chip}

    def _graphs_of_variants(self, hits: Hits) -> list[tuple[Graph, ...]]:
        """For each variant its graphs, which know the axes that tell them apart."""
        columns = []
        for name in self._recipe.graphs:
            only_for = tuple(
                override.pattern for override in self._used(hits) if override.touches(name)
            )
            graphs = [self._graph(name, v, self._applied(hits, v)) for v in self._variants]
            used = _axes_used(self._variants, graphs)
            source = _axes_used(self._variants, [graph.source for graph in graphs])
            if used or only_for:
                graphs = [
                    replace(graph, axes_used=used, source_axes=source, only_for=only_for)
                    for graph in graphs
                ]
            columns.append(graphs)
        return list(zip(*columns, strict=True))

    def _graph(self, name: str, variant: Variant, applied: Hits) -> Graph:
        key, node = self._graph_node(name, variant, applied)
        if key not in self._graphs:
            at = self._recipe.graphs[name].key.span
            self._graphs[key] = graph_of(name, at, node, self.problems)
            self.problems += self._wrong_in_graph(node)
        if not is_sdk(self._rest(variant, applied).toolchain):
            return self._graphs[key]
        if ("sdk", key) not in self._graphs:
            self._graphs["sdk", key] = computed_in_fp16(self._graphs[key])
        return self._graphs["sdk", key]

    def _wrong_in_graph(self, node: MappingNode) -> list[Problem]:
        problems = list(wrong_patterns(node, self._table, [v.name for v in self._variants]))
        if not problems:
            never = (self._never(word.value, word.span) for word in failing_patterns(node))
            problems = [problem for problem in never if problem]
        return problems

    def _expecting(self, graph: Graph, variant: Variant, chip: Chip, hits: Hits) -> Graph:
        """The graph, with its known failure where this target is one; else the very same graph."""
        _, node = self._graph_node(graph.name, variant, self._applied(hits, variant))
        if "expect_failure" not in node or self.problems:
            return graph
        expectation = expectation_of(node.get("expect_failure"))
        if expectation is None or not expectation.speaks_of(chip, variant.name):
            return graph
        if id(graph) not in self._failing:
            failing = replace(graph, expect_failure=expectation.failure)
            self._failing[id(graph)] = (graph, failing)  # both: no id is used again
        return self._failing[id(graph)][1]

    def _graph_node(self, name: str, variant: Variant, applied: Hits) -> tuple[object, MappingNode]:
        """The graph's node, filled, and what it depends on."""
        mine = tuple(
            hit and override.touches(name)
            for hit, override in zip(applied, self._overrides, strict=True)
        )
        written = self._nodes.get((name, mine))
        if written is None:
            written = self._nodes[name, mine] = self._merged_graph(name, mine)
        if not written.braces:
            return (name, mine), written
        key = (name, mine, variant.name)
        if key not in self._nodes:
            node = filled_graph(name, written, self._values(variant), self.problems)
            assert isinstance(node, MappingNode)
            self._nodes[key] = node
        return key, self._nodes[key]

    def _merged_graph(self, name: str, mine: Hits) -> MappingNode:
        """The graph with its overrides and its source, placeholders still in it."""
        entry = self._recipe.graphs[name]
        assert isinstance(entry.value, MappingNode)
        node = without(entry.value, "only")
        top = self._top(mine)
        graphs = top.mapping("graphs")
        if graphs and (changed := graphs.mapping(name)):
            node = without(changed, "only")
        for override in self._used(mine):
            if override.graph == name:
                node = merged_mapping(node, override.change)
        if "expect_failure" in top and "expect_failure" not in node:
            known = top.entries["expect_failure"]
            node = with_entries(node, {**node.entries, "expect_failure": known})
        if "source" not in top:
            return node
        source = with_entries(node, {"source": top.entries["source"]})
        return merged_mapping(source, node)

    def _top(self, applied: Hits) -> MappingNode:
        """The recipe with the overrides that stand at its top."""
        top = self._recipe.root
        for override in self._used(applied):
            if override.graph is None:
                top = merged_mapping(top, override.change)
        return top

    def _rest(self, variant: Variant, applied: Hits) -> Rest:
        key = (variant.name, applied)
        if key not in self._rests:
            top = filled(
                without(self._top(applied), "bundle"), self._values(variant), self.problems
            )
            written = self._top(applied).mapping("bundle")
            license_ = top.get("license")
            assert license_ is not None
            kept = without(top, "graphs", "source", "only", "variants")
            places: dict[str, Span] = {}
            add_places(places, "", kept, 2)
            if written is not None:
                add_places(places, "bundle.", written, 1)
            self._rests[key] = Rest(
                top=top,
                bundle=written,
                license=license_of(license_, self.problems),
                toolchain=_text(top, "toolchain") or "ort",
                context=_context(top),
                places=places,
            )
        return self._rests[key]

    def _target(
        self, variant: Variant, chip: Chip, graphs: tuple[Graph, ...], rest: Rest
    ) -> Target:
        return Target(
            model=self._recipe.model,
            variant=variant.name,
            axes=variant.values,
            chip=chip,
            toolchain=rest.toolchain,
            license=rest.license,
            graphs=graphs,
            context=rest.context,
            group=group_of(chip, rest.context.chip_groups),
            bundle=self._bundle(variant, chip, rest),
            description=_text(rest.top, "description"),
            homepage=_text(rest.top, "homepage"),
            recipe=self._recipe.file,
            places={**rest.places, "chip": self._selector[chip.name]},
        )

    def _bundle(self, variant: Variant, chip: Chip, rest: Rest) -> BundleOptions:
        node = rest.bundle
        if node is None:
            return BundleOptions()
        key = (id(node), variant.name, chip.name if node.braces else None)
        if key not in self._bundles:
            values = self._values(variant, chip.name)
            self._bundles[key] = bundle_options(node, values, self.problems)
        return self._bundles[key]

    @cached_property
    def _selector(self) -> dict[str, Span]:
        """For each chip where the recipe asks for it."""
        asked = [(parse(node.value), node.span) for node in self._recipe.chips]
        return {
            chip.name: next(at for pattern, at in asked if pattern.matches(chip))
            for chip in self._chips
        }


def _overrides(recipe: RecipeFile) -> Iterator[Override]:
    """Those of the whole recipe, then those of its graphs: what is nearer wins."""
    for key, change in overrides_of(recipe.root):
        yield Override(pattern=key.value, span=key.span, change=change)
    for name, entry in recipe.graphs.items():
        if isinstance(entry.value, MappingNode):
            for key, change in overrides_of(entry.value):
                yield Override(pattern=key.value, span=key.span, change=change, graph=name)


def _axes_used(variants: Sequence[Variant], values: Sequence[object]) -> tuple[str, ...]:
    """The axes along which a value changes while all others stand still."""
    if all(value is values[0] for value in values):
        return ()
    used = []
    for axis in variants[0].values:
        first: dict[tuple[str, ...], object] = {}
        for variant, value in zip(variants, values, strict=True):
            others = tuple(text for name, text in variant.values.items() if name != axis)
            known = first.setdefault(others, value)
            if known is not value and known != value:
                used.append(axis)
                break
    return tuple(used)


def _context(top: MappingNode) -> ContextOptions:
    node = top.get("context")
    value = recipe_schema().part("context").typed(node) if node else {}
    return ContextOptions(
        embed=value.get("embed", False),
        node_name_prefix=value.get("node_name_prefix", ""),
        share_weights=SHARED[value.get("share_weights", False)],
        chip_groups=groups_of(value.get("multi_soc")),
    )


def _text(top: MappingNode, name: str) -> str:
    node = top.get(name)
    return node.value if isinstance(node, ScalarNode) else ""
