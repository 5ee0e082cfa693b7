"""Settings of a whole repo: qnnbuild.yaml."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.model.cluster import Cluster, cluster_of, cluster_problems
from qnnbuild.model.limits import Limits, limits_of
from qnnbuild.model.paths import paths_of
from qnnbuild.model.recipe import Scalar
from qnnbuild.model.remote_cache import (
    RemoteCache,
    remote_cache_of,
    remote_cache_problems,
    without_secrets,
)
from qnnbuild.model.schemas import settings_schema
from qnnbuild.model.sdks import KEYS, Sdk, is_sdk, sdk_of, sdk_problems
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
    sdks: Mapping[str, Sdk] = field(default_factory=dict)  # toolchains that are Qualcomm's SDK
    executor: Cluster | None = None  # None: actions run on this machine
    limits: Limits = field(default_factory=Limits)
    remote_cache: RemoteCache | None = None  # None: machines share nothing
    defaults: MappingNode | None = None  # of every recipe, as written
    places: Mapping[str, Span] = field(default_factory=dict, compare=False)


def read_settings(text: str | bytes, file: str = SETTINGS_FILE) -> Settings:
    """Settings from qnnbuild.yaml; an empty file means all as usual. Raises RecipeError."""
    nothing, broken = read_nodes(file, text)
    if not broken and (nothing is None or (isinstance(nothing, ScalarNode) and nothing.empty)):
        return Settings()
    root, problems = read_mapping(file, text, "settings file")
    if root is not None:
        toolchains = _toolchain_problems(root.mapping("toolchains"))
        remote = remote_cache_problems(root.mapping("remote_cache"))
        executor = cluster_problems(root.get("executor"))
        problems = [*problems, *settings_schema().check(root), *toolchains, *remote, *executor]
        problems = without_secrets(problems, root.entries.get("remote_cache"))
    if root is None or problems:
        raise RecipeError.of(in_order(problems))
    value = settings_schema().typed(root)
    declared = value.get("toolchains", {})
    usual = Settings()
    settings = Settings(
        recipes=paths_of(root.get("recipes"), problems) or usual.recipes,
        chips=next(iter(paths_of(root.get("chips"), problems)), usual.chips),
        store=value.get("store"),
        threads=value.get("threads"),
        toolchains={
            name: _plugin(name, given, root.mapping("toolchains"))
            for name, given in declared.items()
            if not is_sdk(name)
        },
        sdks={
            name: sdk_of(name, given, _span(name, root.mapping("toolchains")))
            for name, given in declared.items()
            if is_sdk(name)
        },
        executor=cluster_of(value.get("executor"), _key_span(root, "executor")),
        limits=limits_of(value.get("limits")),
        remote_cache=remote_cache_of(value.get("remote_cache")),
        defaults=root.mapping("defaults"),
        places={name: entry.key.span for name, entry in root.entries.items()},
    )
    if problems:
        raise RecipeError.of(in_order(problems))
    return settings


def _plugin(name: str, given: Mapping[str, Scalar], toolchains: MappingNode | None) -> Plugin:
    options = {key: value for key, value in given.items() if key != "plugin"}
    span = _span(name, toolchains)
    return Plugin(name=name, plugin=str(given["plugin"]), options=options, span=span)


def _key_span(root: MappingNode, name: str) -> Span | None:
    return root.entries[name].key.span if name in root.entries else None


def _span(name: str, toolchains: MappingNode | None) -> Span | None:
    return toolchains.entries[name].key.span if toolchains else None


def _toolchain_problems(toolchains: MappingNode | None) -> Iterator[Problem]:
    """A toolchain is a version of the SDK, by its name, or the user's own code."""
    for name, entry in toolchains.entries.items() if toolchains else ():
        if not isinstance(entry.value, MappingNode):
            continue
        if is_sdk(name):
            yield from sdk_problems(name, entry.key.span, entry.value)
        elif "plugin" not in entry.value.entries:
            sdk = next((key for key in KEYS if key in entry.value.entries), None)
            yield Problem(
                message=f"'plugin' is missing from '{name}'",
                at=entry.key.span,
                hint="plugin: the Python attribute that is the toolchain: module:ATTRIBUTE"
                if sdk is None
                else "Qualcomm's SDK is called by its version: qairt-2.40",
            )
