"""Settings of a whole repo: qnnbuild.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.paths import paths_of
from qnnbuild.model.recipe import Scalar
from qnnbuild.model.schemas import settings_schema
from qnnbuild.text.complaints import in_order
from qnnbuild.text.nodes import MappingNode, ScalarNode
from qnnbuild.text.reader import read_mapping, read_nodes

SETTINGS_FILE = "qnnbuild.yaml"


@dataclass(frozen=True, kw_only=True)
class Plugin:
    """A toolchain of the user's own."""

    name: str
    plugin: str  # module:ATTRIBUTE
    options: Mapping[str, Scalar] = field(default_factory=dict)
    span: Span | None = field(default=None, compare=False)


@dataclass(frozen=True, kw_only=True)
class Settings:
    recipes: tuple[str, ...] = ("recipes/**/*.yaml",)
    chips: str = "chips.yaml"
    store: str | None = None  # None: .qnnbuild in the repo, or what QNNBUILD_STORE says
    threads: int | None = None  # how many actions may run at once
    toolchains: Mapping[str, Plugin] = field(default_factory=dict)
    defaults: MappingNode | None = None  # of every recipe, as written
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)


def read_settings(text: str | bytes, file: str = SETTINGS_FILE) -> Settings:
    """Settings from qnnbuild.yaml; an empty file means all as usual. Raises RecipeError."""
    nothing, broken = read_nodes(file, text)
    if not broken and (nothing is None or (isinstance(nothing, ScalarNode) and nothing.empty)):
        return Settings()
    root, problems = read_mapping(file, text, "settings file")
    if root is not None:
        problems = [*problems, *settings_schema().check(root)]
    if root is None or problems:
        raise RecipeError.of(in_order(problems))
    value = settings_schema().typed(root)
    usual = Settings()
    settings = Settings(
        recipes=paths_of(root.get("recipes"), problems) or usual.recipes,
        chips=next(iter(paths_of(root.get("chips"), problems)), usual.chips),
        store=value.get("store"),
        threads=value.get("threads"),
        toolchains={
            name: _plugin(name, given, root.mapping("toolchains"))
            for name, given in value.get("toolchains", {}).items()
        },
        defaults=root.mapping("defaults"),
        places={name: entry.key.span for name, entry in root.entries.items()},
    )
    if problems:
        raise RecipeError.of(in_order(problems))
    return settings


def _plugin(name: str, given: Mapping[str, Scalar], toolchains: MappingNode | None) -> Plugin:
    options = {key: value for key, value in given.items() if key != "plugin"}
    span = toolchains.entries[name].key.span if toolchains else None
    return Plugin(name=name, plugin=str(given["plugin"]), options=options, span=span)
