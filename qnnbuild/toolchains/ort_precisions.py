"""Which precision works on which chip with ONNX Runtime's QNN plugin, as data with reasons.

Measured with onnxruntime-qnn 2.7.0 on a convolution and a matrix product, compiled for one chip of
each HTP generation, with fp16 and without, and run on the emulator: weights of 8 bits work
everywhere, weights of 16 bits from v73 on and only beside activations of 16 bits; weights of 4 bits
work everywhere with a scale for each channel and nowhere without; weights of 4 bits beside float
activations are refused, or calculated wrongly without a word (-53 dB). bf16 was compiled for one
chip of those from soc_model 88 on; below that the plugin refuses it.

Asymmetric weights of 16 bits beside activations of 16 bits, twelve small graphs on SM6450, SM8550,
SM8650, SM8750 and SM8850, which gave equal numbers:

- one scale a weight: refused for Gemm in each form (with and without bias and transB) and for a
  convolution along one axis; MatMul, and convolutions along two axes, within 0.5 dB of symmetric;
- a scale for each channel: refused for convolutions along two axes, depthwise and transposed ones
  too; MatMul and Gemm within 0.1 dB of symmetric, and so a convolution along one axis.

So they gain nothing anywhere. With float activations they compile for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from qnnbuild.errors import Problem, Span
from qnnbuild.model.precisions import tries, without
from qnnbuild.model.recipe import Chip, Graph, Quantization

WIDE_WEIGHTS_FROM = 73
QUANTIZED = "precision: w8a16, with calibration"


@dataclass(frozen=True, kw_only=True)
class Limit:
    """A quantization that no chip takes, or only some."""

    breaks: Callable[[Quantization], bool]
    said: str
    other: str
    min_arch: int | None = None  # None: no chip takes it


LIMITS = (
    Limit(
        breaks=lambda q: q.weights == 4 and q.activations is None,
        said="weights of 4 bits beside float activations give wrong numbers",
        other="precision: w8, or w4a16 with calibration",
    ),
    Limit(
        breaks=lambda q: q.weights == 4 and not q.per_channel,
        said="weights of 4 bits need a scale for each channel",
        other="per_channel: true",
    ),
    Limit(
        breaks=lambda q: q.activations is None and q.per_channel,
        said="weights beside float activations have one scale",
        other="per_channel: false",
    ),
    Limit(
        breaks=lambda q: q.bias != 32,
        said="a bias has the scale of its node's input times its weight's, in 32 bits",
        other="leave 'bias' out",
    ),
    Limit(
        breaks=lambda q: q.weights == 16 and q.activations == 8,
        said="weights of 16 bits need activations of 16 bits",
        other="precision: w16a16, or w8a8",
    ),
    Limit(
        breaks=lambda q: q.weights == 16 and q.activations == 16 and not q.symmetric_weights,
        said="asymmetric weights of 16 bits are refused by half of the operators",
        other="leave 'symmetric: {weights: false}' out: in 16 bits it gains nothing",
    ),
    Limit(
        breaks=lambda q: q.weights == 16 and q.activations == 16,
        said="weights and activations of 16 bits together",
        other="precision: w8a16",
        min_arch=WIDE_WEIGHTS_FROM,
    ),
)


def precision_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    """What of the graph's precision cannot work on the chip."""
    yield from _float_problems(graph, chip)
    if graph.auto_from:
        yield from _search_problems(graph, chip)
    elif graph.quantization is not None:
        yield from _quantized_problems(graph, chip)


def searchable(graph: Graph, chip: Chip) -> Graph:
    """With `precision: auto` the graph without the words that the chip does not take."""
    refused = _refused_words(graph, chip)
    return without(graph, refused) if 0 < len(refused) < len(graph.auto_from) else graph


def _search_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    """Words that no chip takes; and a chip that takes none of the words."""
    refused = _refused_words(graph, chip)
    for problem in refused.values():
        if not problem.facts:
            yield problem
            return
    if refused and len(refused) == len(graph.auto_from):
        yield Problem(
            message=f"'{graph.name}' cannot be {graph.precision} on {chip.name}: none of the "
            "words to try works there",
            at=_written(graph),
            facts=(
                ("chip", f"{chip.name}, HTP v{chip.arch}"),
                *((word, one.message.partition(": ")[2]) for word, one in refused.items()),
            ),
            hint="precision: auto tries w8a8 and w8a16, which work on all chips",
        )


def _refused_words(graph: Graph, chip: Chip) -> dict[str, Problem]:
    """Word of `precision: auto` → why it cannot work on the chip."""
    refused: dict[str, Problem] = {}
    for word, meant in tries(graph):
        one = replace(graph, precision=word, quantization=meant, auto_from=())
        for problem in _quantized_problems(one, chip):
            refused.setdefault(word, problem)
    return refused


def _quantized_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    quantization = graph.quantization
    assert quantization is not None
    for limit in LIMITS:
        if limit.breaks(quantization) and (limit.min_arch is None or chip.arch < limit.min_arch):
            yield _beyond(limit, graph, chip)
            return
    if quantization.activations is None and not calculates_floats(chip):
        said = f"{chip.name} has no float arithmetic, and activations stay float"
        yield _problem(graph, chip, said, QUANTIZED)
    elif (quantization.float_operators or quantization.float_nodes) and not calculates_floats(chip):
        said = f"{chip.name} has no float arithmetic, and some operators stay float"
        yield _problem(graph, chip, said, "leave 'float' out, or sixteen_bit: instead of it")


def calculates_floats(chip: Chip) -> bool:
    return chip.fp16 or _really_fp32(chip)


def _really_fp32(chip: Chip) -> bool:
    """Where the HTP has no fp16 but the library compiles float models all the same.

    It calculates in fp32: seen in the binary's list of operators and in the emulator's numbers.
    """
    return not chip.fp16 and bool(chip.reads_back_as.get("fp16", False))


def _float_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    if graph.precision == "fp16" and not chip.fp16:
        other = "precision: fp32" if _really_fp32(chip) else QUANTIZED
        yield _problem(graph, chip, f"{chip.name} has no fp16", other)
    if graph.precision == "fp32" and chip.fp16:
        said = f"{chip.name} calculates float models in fp16"
        yield _problem(graph, chip, said, "precision: fp16")
    if graph.precision == "fp32" and not calculates_floats(chip):
        yield _problem(graph, chip, f"{chip.name} has no float arithmetic", QUANTIZED)
    if graph.precision == "bf16" and not chip.bf16:
        other = "precision: fp16" if chip.fp16 else QUANTIZED
        yield _problem(graph, chip, f"{chip.name} has no bf16", other)


def _beyond(limit: Limit, graph: Graph, chip: Chip) -> Problem:
    at = _written(graph)
    if limit.min_arch is None:
        message = f"'{graph.name}' cannot be {graph.precision}: {limit.said}"
        return Problem(message=message, at=at, hint=limit.other)
    short = _short(limit.other)
    return Problem(
        message=f"'{graph.name}' cannot be {graph.precision} on {chip.name}: {limit.said} "
        f"need HTP v{limit.min_arch}",
        at=at,
        facts=_facts(graph, chip),
        hint=f'{limit.other}; for the older chips only: only: {{"arch<{limit.min_arch}": '
        f"{{{short}}}}}",
    )


def _problem(graph: Graph, chip: Chip, said: str, other: str) -> Problem:
    return Problem(
        message=f"'{graph.name}' cannot be {graph.precision} on {chip.name}: {said}",
        at=_written(graph),
        facts=_facts(graph, chip),
        hint=f"{other}; for this chip only: only: {{{chip.name}: {{{_short(other)}}}}}"
        if other.startswith("precision")
        else other,
    )


def _written(graph: Graph) -> Span | None:
    return graph.places.get("precision", graph.places.get("graph"))


def _facts(graph: Graph, chip: Chip) -> tuple[tuple[str, str], ...]:
    return (("chip", f"{chip.name}, HTP v{chip.arch}"), ("precision", graph.precision))


def _short(other: str) -> str:
    return other.partition(",")[0]
