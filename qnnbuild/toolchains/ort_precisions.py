"""Which precision works on which chip with ONNX Runtime's QNN plugin, as data with reasons.

Measured with onnxruntime-qnn 2.7.0 on a convolution and a matrix product, compiled for one chip of
each HTP generation, with fp16 and without, and run on the emulator: weights of 8 bits work
everywhere, weights of 16 bits from v73 on and only beside activations of 16 bits; weights of 4 bits
work everywhere with a scale for each channel and nowhere without; weights of 4 bits beside float
activations are refused, or calculated wrongly without a word (-53 dB). bf16 was compiled for one
chip of those from soc_model 88 on; below that the plugin refuses it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from qnnbuild.errors import Problem
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
        breaks=lambda q: q.weights == 16 and q.activations == 16,
        said="weights and activations of 16 bits together",
        other="precision: w8a16",
        min_arch=WIDE_WEIGHTS_FROM,
    ),
)


def precision_problems(graph: Graph, chip: Chip) -> Iterator[Problem]:
    """What of the graph's precision cannot work on the chip."""
    yield from _float_problems(graph, chip)
    quantization = graph.quantization
    if quantization is None or graph.auto_from:
        return
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
    at = graph.places.get("precision", graph.places.get("graph"))
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
        at=graph.places.get("precision", graph.places.get("graph")),
        facts=_facts(graph, chip),
        hint=f"{other}; for this chip only: only: {{{chip.name}: {{{_short(other)}}}}}"
        if other.startswith("precision")
        else other,
    )


def _facts(graph: Graph, chip: Chip) -> tuple[tuple[str, str], ...]:
    return (("chip", f"{chip.name}, HTP v{chip.arch}"), ("precision", graph.precision))


def _short(other: str) -> str:
    return other.partition(",")[0]
