"""`verify:` and `expect_failure:` as resolved: how a binary is run, and what it must reach."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.chips import Chips
from qnnbuild.model.paths import path_of, paths_of, unsafe_name
from qnnbuild.model.patterns import check_only, matches_chip
from qnnbuild.model.precisions import BORROWED_SAMPLES, RANDOM_SAMPLES, default_bars
from qnnbuild.model.recipe import (
    Bars,
    Chip,
    ExpectedFailure,
    Graph,
    Metric,
    OutputBars,
    Samples,
    Verify,
)
from qnnbuild.model.samples import samples_of
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode

CHIP_WORDS = ("generations", "all", "none")


@dataclass(frozen=True, kw_only=True)
class Expectation:
    """A known failure and the chips and variants that it is about; no patterns: all."""

    patterns: tuple[str, ...]
    failure: ExpectedFailure

    def speaks_of(self, chip: Chip, variant: str) -> bool:
        return not self.patterns or any(
            fnmatchcase(variant, pattern) or matches_chip(pattern, chip)
            for pattern in self.patterns
        )


def verify_of(
    node: MappingNode | None,
    value: Mapping[str, Any],
    precision: str,
    samples: tuple[str, ...],
    problems: list[Problem],
) -> Verify:
    """`samples` are the graph's own files, which stand in where verify has no inputs."""
    given = _samples(node, value, samples, problems)
    reference = paths_of(node.get("reference"), problems) if node else ()
    if reference and not (given.files or given.exported or given.python):
        problems.append(_no_inputs(node))
    metrics = _metrics(node.mapping("metrics") if node else None, problems, value)
    bars = written = _bars(value)
    by_precision = bars == Bars() and not any(_has_bar(metric) for metric in metrics)
    if by_precision:
        bars = default_bars(precision)
    return Verify(
        samples=given,
        reference=reference,
        chips=tuple(value.get("chips", ("generations",))),
        bars=bars,
        on_device=value.get("on_device", False),
        by_precision=by_precision,
        outputs=_outputs(node, value, written, problems),
        metrics=metrics,
    )


def computed_in_fp16(graph: Graph) -> Graph:
    """With the bar of fp16 where that of fp32 stands because the recipe gives none.

    Since 2.35 Qualcomm's SDK computes a float32 graph on the HTP in fp16, whatever it is told.
    """
    if graph.precision != "fp32" or not graph.verify.by_precision:
        return graph
    return replace(graph, verify=replace(graph.verify, bars=default_bars("fp16")))


def unknown_outputs(graph: MappingNode, known: Iterable[str]) -> Iterator[Problem]:
    """Names below `verify.outputs` that are none of the outputs that the recipe keeps."""
    verify, names = graph.mapping("verify"), list(known)
    given = verify.mapping("outputs") if verify and names else None
    for name, entry in given.entries.items() if given else ():
        if name not in names:
            yield Problem(
                message=f"the graph has no output '{name}'",
                at=entry.key.span,
                facts=(("its outputs", ", ".join(names)),),
                hint=did_you_mean(name, names),
            )


def expectation_of(node: Node | None) -> Expectation | None:
    """The known failure of a mapping that the schema has accepted."""
    if not isinstance(node, MappingNode):
        return None
    reason, issue = node.get("reason"), node.get("issue")
    assert isinstance(reason, ScalarNode)
    return Expectation(
        patterns=tuple(item.value for item in _texts(node.get("only"))),
        failure=ExpectedFailure(
            reason=reason.value, issue=issue.value if isinstance(issue, ScalarNode) else None
        ),
    )


def failing_patterns(graph: MappingNode) -> list[ScalarNode]:
    """The patterns of a graph's known failure."""
    expected = graph.mapping("expect_failure")
    return _texts(expected.get("only")) if expected else []


def wrong_patterns(graph: MappingNode, chips: Chips, variants: Iterable[str]) -> Iterator[Problem]:
    """What is wrong with the patterns of `verify.chips` and `expect_failure.only`."""
    verify = graph.mapping("verify")
    words = _texts(verify.get("chips")) if verify else []
    special = [word for word in words if word.value in CHIP_WORDS]
    if special and len(words) > 1:
        message = f"'{special[0].value}' stands alone"
        hint = f"one of {', '.join(CHIP_WORDS)}, or patterns of chips"
        yield Problem(message=message, at=special[0].span, hint=hint)
    for word in words:
        if word not in special and (wrong := check_only(word.value, word.span, chips)):
            near = did_you_mean(word.value, CHIP_WORDS)
            yield replace(wrong, hint=near) if near else wrong
    names = [name for name in variants if name]
    for word in failing_patterns(graph):
        if wrong := check_only(word.value, word.span, chips, names):
            yield wrong


def _no_inputs(node: MappingNode | None) -> Problem:
    assert node is not None
    return Problem(
        message="recorded references want the inputs that they were recorded with",
        at=node.entries["reference"].key.span,
        hint="inputs: samples/*.npz",
    )


def _bars(value: Mapping[str, Any]) -> Bars:
    top_k = value.get("top_k", {})
    return Bars(
        min_sqnr_db=_number(value.get("min_sqnr_db")),
        max_abs_error=_number(value.get("max_abs_error")),
        max_rel_error=_number(value.get("max_rel_error")),
        min_cosine=_number(value.get("min_cosine")),
        min_top1=_number(value.get("min_top1")),
        top_k=top_k.get("k"),
        min_top_k=_number(top_k.get("min")),
    )


def _outputs(
    node: MappingNode | None, value: Mapping[str, Any], graphs: Bars, problems: list[Problem]
) -> dict[str, OutputBars]:
    """Each with the graph's bars beside its own; a default is no bar of the graph's."""
    found = {}
    for name, given in value.get("outputs", {}).items():
        own = _bars(given)
        if "excused" in given and own != Bars():
            assert node is not None
            problems.append(_judged_and_not(node, name))
        said = {what: bar for what, bar in asdict(own).items() if bar is not None}
        found[name] = (
            OutputBars(excused=given["excused"])
            if "excused" in given
            else OutputBars(bars=replace(graphs, **said))
        )
    return found


def _judged_and_not(node: MappingNode, name: str) -> Problem:
    outputs = node.mapping("outputs")
    assert outputs is not None
    written = outputs.mapping(name)
    assert written is not None
    return Problem(
        message=f"'{name}' has bars and is excused",
        at=written.entries["excused"].key.span,
        hint="keep one of the two",
    )


def _metrics(
    node: MappingNode | None, problems: list[Problem], value: Mapping[str, Any]
) -> tuple[Metric, ...]:
    metrics = []
    for name, entry in node.entries.items() if node else ():
        written, given = entry.value, value["metrics"][name]
        assert isinstance(written, MappingNode)
        if why := unsafe_name(name):
            problems.append(Problem(message=f"'{name}' {why}", at=entry.key.span))
        metrics.append(
            Metric(
                name=name,
                file=path_of(written.get("file"), problems),
                function=given.get("function", "metric"),
                needs=paths_of(written.get("needs"), problems),
                at_least=_number(given.get("min")),
                at_most=_number(given.get("max")),
            )
        )
    return tuple(metrics)


def _samples(
    node: MappingNode | None,
    value: Mapping[str, Any],
    borrowed: tuple[str, ...],
    problems: list[Problem],
) -> Samples:
    """All inputs of verify's own; else some of the graph's samples; else random ones."""
    number = value.get("samples")
    written = node.get("inputs") if node else None
    if written is None and borrowed:
        return Samples(files=borrowed, at_most=number or BORROWED_SAMPLES)
    if written is None:
        return Samples(random=number or RANDOM_SAMPLES)
    given = samples_of(written, value["inputs"], problems)
    if number is None:
        return given
    return replace(given, random=number) if given.random else replace(given, at_most=number)


def _has_bar(metric: Metric) -> bool:
    return metric.at_least is not None or metric.at_most is not None


def _number(given: float | None) -> float | None:
    return None if given is None else float(given)


def _texts(node: Node | None) -> list[ScalarNode]:
    items = node.items if isinstance(node, ListNode) else (node,)
    return [item for item in items if isinstance(item, ScalarNode)]
