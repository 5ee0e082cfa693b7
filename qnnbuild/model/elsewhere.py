"""Graphs that were compiled elsewhere: what a recipe says of them, and what means nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.paths import path_of
from qnnbuild.model.precisions import COMPILED, GENIE
from qnnbuild.model.recipe import ExportSource, Genie, Graph, Lora
from qnnbuild.text.nodes import MappingNode

NO_ADAPTER = "none"

ITS_OWN = {"compiled": COMPILED, "lora": COMPILED, "genie": GENIE}
"""A recipe's key → the only precision that it means something with."""

BEFORE_COMPILING = (
    *("constants", "cast", "repairs", "simplify", "max_fold_mb", "calibration", "cpu_fallback"),
    *("samples", "dumps", "expect_failure", "backend", "op_packages"),
)
"""Keys that decide what is compiled, or speak of the compile."""

SOURCES = {COMPILED: "a context binary", GENIE: "a DLC"}


def genie_of(node: MappingNode, word: str, problems: list[Problem]) -> Genie | None:
    """None for what Genie does not run."""
    if word != GENIE:
        return None
    given = node.mapping("genie")
    override = path_of(given.get("override"), problems) if given and "override" in given else None
    return Genie(override=override)


def lora_of(node: MappingNode, value: Mapping[str, Any], problems: list[Problem]) -> Lora | None:
    given = node.mapping("lora")
    if given is None:
        return None
    adapters = given.mapping("adapters")
    assert adapters is not None
    files = {name: path_of(entry.value, problems) for name, entry in adapters.entries.items()}
    default = value["lora"].get("default", NO_ADAPTER)
    if NO_ADAPTER in files:
        problems.append(
            Problem(
                message=f"no adapter may be called '{NO_ADAPTER}'",
                at=adapters.entries[NO_ADAPTER].key.span,
                hint=f"default: {NO_ADAPTER} says that there is none",
            )
        )
    elif default not in (*files, NO_ADAPTER):
        problems.append(
            Problem(
                message=f"no adapter is named '{default}'",
                at=given.entries["default"].value.span,
                hint=did_you_mean(default, files, otherwise=f"adapters here: {', '.join(files)}"),
            )
        )
    return Lora(adapters=files, default=None if default == NO_ADAPTER else default)


def made_elsewhere(graph: Graph) -> Iterator[Problem]:
    """Keys that mean nothing for the precision; what a repo has in common may say them."""
    home = graph.places["graph"].file
    said = {key for key, at in graph.places.items() if at.file == home}
    for key, word in ITS_OWN.items():
        if key in said and graph.precision != word:
            yield Problem(
                message=f"'{key}' is for graphs with precision: {word}, "
                f"and '{graph.name}' is {graph.precision}",
                at=graph.places[key],
                hint=f"precision: {word}, where the source is {SOURCES[word]}; else leave it out",
            )
    if graph.precision in SOURCES:
        yield from _no_use(graph, said)
        yield from _no_reference(graph)


def _no_use(graph: Graph, said: set[str]) -> Iterator[Problem]:
    source = SOURCES[graph.precision]
    if isinstance(graph.source, ExportSource):
        yield Problem(
            message=f"an export makes an ONNX file, and '{graph.name}' is {source}",
            at=graph.source.span,
            hint="source: {file: …} names what your command has made",
        )
    keys = [*BEFORE_COMPILING, *(["verify", "outputs"] if graph.genie else [])]
    if graph.wrapped:
        keys += [f"outputs.{name}.dtype" for name in graph.outputs]
        keys += [f"inputs.{name}.{what}" for name in graph.inputs for what in ("shape", "dtype")]
    for key in keys:
        if key in said:
            yield Problem(
                message=f"'{key}' has no use: '{graph.name}' is {source}, made elsewhere",
                at=graph.places[key],
                hint=_instead(key, graph),
            )
    if graph.wrapped and graph.outputs:
        yield Problem(
            message=f"'{graph.name}' has the outputs that it was compiled with",
            at=graph.places.get("outputs"),
            hint="leave 'outputs' out",
        )


def _instead(key: str, graph: Graph) -> str:
    if key == "verify" and graph.genie:
        return "leave it out: Genie runs on Windows on ARM64 alone, so nothing is run here"
    return f"leave '{key}' out"


def _no_reference(graph: Graph) -> Iterator[Problem]:
    """A measure of the user's own compares with the original's answers."""
    if graph.wrapped and graph.wrapped.original is None and graph.verify.metrics:
        first = graph.verify.metrics[0].name
        yield Problem(
            message=f"the metric '{first}' compares with the original, which is not known",
            at=graph.places.get(f"verify.metrics.{first}", graph.places.get("verify")),
            hint="compiled: {original: {file: onnx/model.onnx}}",
        )
