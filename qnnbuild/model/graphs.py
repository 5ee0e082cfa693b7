"""One graph as resolved: from its nodes, merged and filled, to the values that steps take."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from qnnbuild.errors import Problem, RecipeError, Span
from qnnbuild.model.paths import member_path, repo_path
from qnnbuild.model.recipe import (
    ExportSource,
    FileSource,
    Graph,
    HubSource,
    InputSpec,
    License,
    OutputSpec,
    PypiSource,
    Source,
    UrlSource,
)
from qnnbuild.model.schemas import recipe_schema
from qnnbuild.text.nodes import Entry, ListNode, MappingNode, Node, ScalarNode

_MIB = 1 << 20


def graph_of(name: str, at: Span, node: MappingNode, problems: list[Problem]) -> Graph:
    """The graph of a mapping that the schema has accepted and that has its source."""
    value = recipe_schema().part("graphs", name).typed(node)
    source = node.mapping("source")
    assert source is not None
    return Graph(
        name=name,
        source=source_of(source, problems),
        inputs={key: _input(given) for key, given in value.get("inputs", {}).items()},
        outputs=_outputs(value.get("outputs", {})),
        constants={key: _constant(given) for key, given in value.get("constants", {}).items()},
        cast=value.get("cast", {}),
        repairs=tuple(value.get("repairs", ())),
        simplify=value.get("simplify", True),
        max_fold_bytes=int(value.get("max_fold_mb", 64) * _MIB),
        precision=value.get("precision", "fp16"),
        cpu_fallback=value.get("cpu_fallback", "refuse"),
        samples=paths_of(node.get("samples"), problems),
        options=value.get("options", {}),
        deadline_s=float(value.get("deadline", 900.0)),
        places=_places(at, node),
    )


def source_of(node: MappingNode, problems: list[Problem]) -> Source:
    """The source of a mapping that the schema has accepted."""
    value = recipe_schema().part("source").typed(node)
    kind = next(key for key in _SOURCES if key in value)
    return _SOURCES[kind](node, value, problems)


def license_of(node: Node, problems: list[Problem]) -> License:
    value = recipe_schema().part("license").typed(node)
    if isinstance(node, ScalarNode):
        return License(spdx=value)
    assert isinstance(node, MappingNode)
    return License(
        spdx=value["spdx"],
        redistribute=value.get("redistribute", True),
        file=_path(node.get("file"), problems) if "file" in node else None,
        member=_member(node.get("member"), problems) if "member" in node else None,
    )


def paths_of(node: Node | None, problems: list[Problem]) -> tuple[str, ...]:
    """Paths of the repo, each once."""
    found = [_path(item, problems) for item in _items(node)]
    return tuple(dict.fromkeys(found))


def add_places(places: dict[str, Span], above: str, node: MappingNode, depth: int) -> None:
    """Where the keys of a mapping stand, down to `depth` levels: "options", "options.ort"."""
    for name, entry in node.entries.items():
        place = f"{above}{name}"
        places[place] = _entry_span(entry) if depth == 1 else _value_span(entry)
        if isinstance(entry.value, MappingNode) and depth > 1:
            add_places(places, f"{place}.", entry.value, depth - 1)
        elif isinstance(entry.value, ListNode) and depth > 1:
            for item in entry.value.items:
                if isinstance(item, ScalarNode):
                    places[f"{place}.{item.value}"] = item.span


def _file(node: MappingNode, _: Any, problems: list[Problem]) -> Source:
    return FileSource(file=_path(node.get("file"), problems), span=node.span)


def _url(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    member = _member(node.get("member"), problems) if "member" in node else None
    return UrlSource(url=value["url"], sha256=value["sha256"], member=member, span=node.span)


def _pypi(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    return PypiSource(
        pypi=value["pypi"],
        member=_member(node.get("member"), problems),
        sha256=value["sha256"],
        span=node.span,
    )


def _hub(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    return HubSource(
        hub=value["hub"],
        revision=value["revision"],
        member=_member(node.get("member"), problems),
        sha256=value["sha256"],
        span=node.span,
    )


def _export(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    export = node.mapping("export")
    assert export is not None
    given = value["export"]
    requirements = _path(export.get("requirements"), problems) if "requirements" in export else None
    makes = [_member(item, problems) for item in _items(export.get("makes"))]
    return ExportSource(
        run=tuple(given["run"]),
        needs=paths_of(export.get("needs"), problems),
        makes=makes[0],
        folder=posixpath.dirname(export.span.file),
        requirements=requirements,
        span=node.span,
    )


_SOURCES: Mapping[str, Callable[[MappingNode, Any, list[Problem]], Source]] = {
    "file": _file,
    "url": _url,
    "pypi": _pypi,
    "hub": _hub,
    "export": _export,
}


def _path(node: Node | None, problems: list[Problem]) -> str:
    return _checked(repo_path, node, problems)


def _member(node: Node | None, problems: list[Problem]) -> str:
    return _checked(member_path, node, problems)


def _checked(check: Callable[[ScalarNode], str], node: Node | None, problems: list[Problem]) -> str:
    assert isinstance(node, ScalarNode)
    try:
        return check(node)
    except RecipeError as error:
        problems.extend(error.problems)
        return node.value


def _items(node: Node | None) -> Iterable[Node]:
    """The items of a list; one value is its own list of one."""
    if node is None:
        return ()
    return node.items if isinstance(node, ListNode) else (node,)


def _input(given: Mapping[str, Any]) -> InputSpec:
    low_high = given.get("range")
    return InputSpec(
        shape=tuple(given["shape"]) if "shape" in given else None,
        dtype=given.get("dtype"),
        layout=given.get("layout"),
        range=(float(low_high[0]), float(low_high[1])) if low_high else None,
    )


def _outputs(given: Any) -> dict[str, OutputSpec]:
    if isinstance(given, list):
        return {name: OutputSpec() for name in given}
    return {name: OutputSpec(dtype=(spec or {}).get("dtype")) for name, spec in given.items()}


def _constant(given: Any) -> Any:
    return tuple(given) if isinstance(given, list) else given


def _places(at: Span, node: MappingNode) -> dict[str, Span]:
    places = {"graph": at}
    add_places(places, "", node, 3)
    return places


def _value_span(entry: Entry) -> Span:
    """A value in one line as it stands, else its key."""
    value = entry.value
    inline = isinstance(value, ScalarNode) or value.span.line == entry.key.span.line
    empty = isinstance(value, ScalarNode) and value.empty
    return value.span if inline and not empty else entry.key.span


def _entry_span(entry: Entry) -> Span:
    """Key and value together where they share a line: either may be what is wrong."""
    key, value = entry.key.span, entry.value.span
    if key.line != value.line or key.file != value.file:
        return key
    return Span(file=key.file, line=key.line, column=key.column, end=value.end, text=key.text)
