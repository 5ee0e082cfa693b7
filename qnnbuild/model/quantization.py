"""`precision:` as resolved: a word, or a mapping that says in full how whole numbers are made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.model.paths import path_of
from qnnbuild.model.precisions import AUTO, AUTO_FROM, WORDS, auto_word, word_of
from qnnbuild.model.recipe import Quantization
from qnnbuild.text.nodes import MappingNode, Node

_BITS = ("weights", "activations", "weights_only")
_PERCENTILE = 99.99
_TOGETHER = (("scale", "zero_point"), ("rmin", "rmax"))


@dataclass(frozen=True, kw_only=True)
class Precision:
    """The word that stands in names, and what it means."""

    word: str = "fp16"
    quantization: Quantization | None = None
    auto_from: tuple[str, ...] = ()


def precision_of(node: Node | None, value: Any, problems: list[Problem]) -> Precision:
    """The precision of what the schema has accepted; None where the recipe gives none."""
    if value is None:
        return Precision()
    if not isinstance(node, MappingNode):
        tried = AUTO_FROM if value == AUTO else ()
        return Precision(word=value, quantization=WORDS[value], auto_from=tried)
    problems.extend(_contradictions(node, value))
    quantization = _quantization(node, value, problems)
    if "auto" in value:
        tried = tuple(value["auto"])
        template = None if quantization == Quantization() else quantization
        word = auto_word(template, tried)
        return Precision(word=word, quantization=template, auto_from=tried)
    return Precision(word=word_of(quantization), quantization=quantization)


def _quantization(
    node: MappingNode, value: Mapping[str, Any], problems: list[Problem]
) -> Quantization:
    weights = value.get("weights", 8)
    symmetric = value.get("symmetric", {})
    sixteen, kept = value.get("sixteen_bit", {}), value.get("float", {})
    method = value.get("method", "minmax")
    percentile = float(value.get("percentile", _PERCENTILE)) if method == "percentile" else None
    return Quantization(
        weights=weights,
        activations=None if value.get("weights_only") else value.get("activations", 8),
        bias=value.get("bias", 32),
        per_channel=value.get("per_channel", not value.get("weights_only")),
        symmetric_weights=symmetric.get("weights", True),
        symmetric_activations=symmetric.get("activations", False),
        method=method,
        percentile=percentile,
        sixteen_bit_operators=tuple(sixteen.get("operators", ())),
        sixteen_bit_nodes=tuple(sixteen.get("nodes", ())),
        float_operators=tuple(kept.get("operators", ())),
        float_nodes=tuple(kept.get("nodes", ())),
        overrides=value.get("overrides", {}),
        encodings=path_of(node.get("encodings"), problems) if "encodings" in node else None,
    )


def _contradictions(node: MappingNode, value: Mapping[str, Any]) -> Iterator[Problem]:
    """Keys that cannot both be meant."""
    if value.get("weights_only") and "activations" in node:
        yield _needless(node, "activations", "weights_only leaves activations float")
    if "auto" in node:
        for key in (*_BITS, "encodings"):
            if key in node:
                yield _needless(node, key, "'auto' says which bits are tried")
    if "percentile" in node and value.get("method") != "percentile":
        at = node.entries["percentile"].key.span
        message = "'percentile' is of no use with this method"
        yield Problem(message=message, at=at, hint="method: percentile")
    if "sixteen_bit" in node and value.get("weights_only"):
        yield _needless(node, "sixteen_bit", "weights_only leaves activations float")
    elif "sixteen_bit" in node and value.get("activations") == 16:
        yield _needless(node, "sixteen_bit", "all activations have 16 bits")
    yield from _half_overrides(node)


def _half_overrides(node: MappingNode) -> Iterator[Problem]:
    overrides = node.mapping("overrides")
    for tensor, entry in overrides.entries.items() if overrides else ():
        given = entry.value
        assert isinstance(given, MappingNode)
        at = entry.key.span
        for pair in _TOGETHER:
            if (pair[0] in given) != (pair[1] in given):
                missing = pair[1] if pair[0] in given else pair[0]
                message = f"'{tensor}' lacks '{missing}'"
                yield Problem(message=message, at=at, hint=f"{pair[0]} and {pair[1]} go together")
        if "scale" in given and "rmin" in given:
            hint = "scale and zero_point, or rmin and rmax"
            yield Problem(message=f"'{tensor}' has its scale twice", at=at, hint=hint)


def _needless(node: MappingNode, key: str, why: str) -> Problem:
    at = node.entries[key].key.span
    return Problem(message=f"'{key}' contradicts another key: {why}", at=at, hint="leave it out")
