"""One graph as resolved: from its nodes, merged and filled, to the values that steps take."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from qnnbuild.errors import Problem, Span
from qnnbuild.model.elsewhere import genie_of, lora_of, made_elsewhere
from qnnbuild.model.op_packages import KEY as OP_PACKAGES
from qnnbuild.model.op_packages import op_package_places, op_packages_of
from qnnbuild.model.paths import check_address, items_of, member_of, path_of, paths_of
from qnnbuild.model.precisions import COMPILED, GENIE, needs_calibration, takes_calibration
from qnnbuild.model.quantization import precision_of
from qnnbuild.model.recipe import (
    ExportSource,
    FileSource,
    Graph,
    HubSource,
    InputSpec,
    License,
    OutputSpec,
    PypiSource,
    RunOptions,
    Samples,
    Source,
    UrlSource,
    Verify,
    Wrapped,
)
from qnnbuild.model.samples import nothing_exported, samples_of
from qnnbuild.model.schemas import recipe_schema
from qnnbuild.model.verify import unknown_outputs, verify_of
from qnnbuild.text.nodes import Entry, ListNode, MappingNode, Node, ScalarNode

_MIB = 1 << 20


def graph_of(name: str, at: Span, node: MappingNode, problems: list[Problem]) -> Graph:
    """The graph of a mapping that the schema has accepted and that has its source."""
    value = recipe_schema().part("graphs", name).typed(node)
    source = node.mapping("source")
    assert source is not None
    precision = precision_of(node.get("precision"), value.get("precision"), problems)
    samples = paths_of(node.get("samples"), problems)
    graph = Graph(
        name=name,
        source=source_of(source, problems),
        inputs={key: _input(given) for key, given in value.get("inputs", {}).items()},
        outputs=_outputs(value.get("outputs", {})),
        constants={key: _constant(given) for key, given in value.get("constants", {}).items()},
        cast=value.get("cast", {}),
        repairs=tuple(value.get("repairs", ())),
        simplify=value.get("simplify", True),
        max_fold_bytes=int(value.get("max_fold_mb", 64) * _MIB),
        precision=precision.word,
        quantization=precision.quantization,
        auto_from=precision.auto_from,
        wrapped=_wrapped(node, value, precision.word, problems),
        genie=genie_of(node, precision.word, problems),
        verify=verify_of(
            node.mapping("verify"), value.get("verify", {}), precision.word, samples, problems
        ),
        cpu_fallback=value.get("cpu_fallback", "refuse"),
        samples=samples,
        options=value.get("options", {}),
        run=RunOptions(**value.get("run", {})),
        lora=lora_of(node, value, problems),
        dumps=tuple(value.get("dumps", ())),
        backend=value.get("backend", "htp"),
        op_packages=op_packages_of(node.get(OP_PACKAGES), problems),
        deadline_s=float(value.get("deadline", 900.0)),
        places=_places(at, node),
    )
    problems += _contradictions(graph, node)
    if graph.genie:
        return replace(graph, backend=GENIE, verify=Verify(chips=("none",)))  # on no host
    calibration = _calibration(graph, node, value, problems)
    return replace(graph, calibration=calibration) if calibration else graph


def _contradictions(graph: Graph, node: MappingNode) -> Iterator[Problem]:
    yield from unknown_outputs(node, graph.outputs)
    yield from made_elsewhere(graph)
    yield from nothing_exported(graph.source, node)


def _calibration(
    graph: Graph, node: MappingNode, value: Mapping[str, Any], problems: list[Problem]
) -> Samples | None:
    """The samples for ranges of activations; None where this precision has no use for them."""
    written = node.get("calibration")
    given = None if written is None else samples_of(written, value["calibration"], problems)
    if given is None and needs_calibration(graph):
        problems.append(
            Problem(
                message=f"'{graph.name}' is {graph.precision} and has no calibration",
                at=graph.places.get("precision", graph.places["graph"]),
                hint="calibration: calib/*.npz, inputs as they occur; to try it out, "
                "calibration: {random: 8}, which is told as synthetic",
            )
        )
    return given if takes_calibration(graph) else None


def _wrapped(
    node: MappingNode, value: Mapping[str, Any], word: str, problems: list[Problem]
) -> Wrapped | None:
    """What a recipe says of a graph in a binary; None for what is compiled here."""
    if word != COMPILED:
        return None
    given, said = node.mapping("compiled"), value.get("compiled", {})
    original = given.mapping("original") if given else None
    return Wrapped(
        graph=said.get("graph"),
        float_io=said.get("float_io", False),
        original=source_of(original, problems) if original else None,
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
        file=path_of(node.get("file"), problems) if "file" in node else None,
        member=member_of(node.get("member"), problems) if "member" in node else None,
    )


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
    return FileSource(file=path_of(node.get("file"), problems), span=node.span)


def _url(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    member = member_of(node.get("member"), problems) if "member" in node else None
    check_address(node.get("url"), problems)
    return UrlSource(url=value["url"], sha256=value["sha256"], member=member, span=node.span)


def _pypi(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    return PypiSource(
        pypi=value["pypi"],
        member=member_of(node.get("member"), problems),
        sha256=value["sha256"],
        span=node.span,
    )


def _hub(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    return HubSource(
        hub=value["hub"],
        revision=value["revision"],
        member=member_of(node.get("member"), problems),
        sha256=value["sha256"],
        span=node.span,
    )


def _export(node: MappingNode, value: Any, problems: list[Problem]) -> Source:
    export = node.mapping("export")
    assert export is not None
    given = value["export"]
    requirements = (
        path_of(export.get("requirements"), problems) if "requirements" in export else None
    )
    makes, also = (
        [member_of(item, problems) for item in items_of(export.get(key))]
        for key in ("makes", "also")
    )
    return ExportSource(
        run=tuple(given["run"]),
        needs=paths_of(export.get("needs"), problems),
        makes=makes[0],
        folder=posixpath.dirname(export.span.file),
        requirements=requirements,
        also=tuple(also),
        span=node.span,
    )


_SOURCES: Mapping[str, Callable[[MappingNode, Any, list[Problem]], Source]] = {
    "file": _file,
    "url": _url,
    "pypi": _pypi,
    "hub": _hub,
    "export": _export,
}


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
    _add_parts(places, node)
    places |= op_package_places(node.get(OP_PACKAGES))
    return places


def _add_parts(places: dict[str, Span], node: MappingNode) -> None:
    """Where each option of the SDK stands: its tools have parts of their own."""
    options = node.mapping("options")
    parts = options.mapping("qairt") if options else None
    for part, entry in parts.entries.items() if parts else ():
        if isinstance(entry.value, MappingNode):
            add_places(places, f"options.qairt.{part}.", entry.value, 1)


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
