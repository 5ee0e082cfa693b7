"""What the words of `precision:` mean, as data: bits, and the bar that holds without one's own."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, replace

from qnnbuild.digest import Json, digest_json
from qnnbuild.model.recipe import Bars, Graph, Quantization

FLOAT = ("fp32", "fp16", "bf16")
QDQ = "qdq"  # quantized already
COMPILED = "compiled"  # elsewhere, to a context binary
GENIE = "genie"  # prepared elsewhere, to a DLC
AUTO = "auto"

WORDS: Mapping[str, Quantization | None] = {
    "fp32": None,
    "fp16": None,
    "bf16": None,
    QDQ: None,
    COMPILED: None,
    GENIE: None,
    AUTO: None,
    "w8a8": Quantization(weights=8, activations=8),
    "w8a16": Quantization(weights=8, activations=16),
    "w16a16": Quantization(weights=16, activations=16),
    "w4a16": Quantization(weights=4, activations=16),
    "w4a8": Quantization(weights=4, activations=8),
    # the HTP takes no scales per channel where only weights are quantized
    "w8": Quantization(weights=8, activations=None, per_channel=False),
    "w16": Quantization(weights=16, activations=None, per_channel=False),
}

AUTO_FROM = ("w8a8", "w8a16")
"""What `precision: auto` tries before it lifts layers, cheapest first."""

MIN_SQNR_DB: Mapping[str, float] = {
    "fp32": 40.0,
    "fp16": 30.0,
    "bf16": 20.0,
    QDQ: 20.0,
    COMPILED: 20.0,
    AUTO: 20.0,
    "w8a8": 15.0,
    "w8a16": 20.0,
    "w16a16": 30.0,
    "w4a16": 10.0,
    "w4a8": 8.0,
    "w8": 25.0,
    "w16": 30.0,
}
"""The bar of a recipe that gives none.

Measured on the emulator against the float model: fp16 33 to 68 dB over 18 networks and less on one
(18.7), w8a8 16 to 48 where it is of use, w8a16 23 to 55; fp32, where a chip has it, more than 80 on
a small one. The bars are a little below what works.
"""

BORROWED_SAMPLES = 4
RANDOM_SAMPLES = 2
"""How many of the graph's own samples, or random ones, are run where verify has no inputs.

Few: the emulator takes 10 to 1,000 times as long as the CPU.
"""


def base_of(word: str) -> str:
    """The word without the digits of a mapping: w8a16-3f2a91 → w8a16."""
    return word.partition("-")[0]


def word_of(quantization: Quantization) -> str:
    """The word in names. What says the same as a word gets that word, else digits tell it apart."""
    base = _bits(quantization)
    same = WORDS.get(base) == quantization
    return base if same else f"{base}-{_digits(quantization)}"


def auto_word(template: Quantization | None, words: tuple[str, ...]) -> str:
    """The word of a search: with settings of its own it has digits of its own."""
    if words == AUTO_FROM and template is None:
        return AUTO
    written = _written(template) if template else None
    return f"{AUTO}-{digest_json({'from': words, 'with': written})[:6]}"


def default_bars(word: str) -> Bars:
    return Bars(min_sqnr_db=MIN_SQNR_DB.get(base_of(word), MIN_SQNR_DB["w8a8"]))


def needs_calibration(graph: Graph) -> bool:
    """Whether scales of activations have to come from samples."""
    if base_of(graph.precision) == AUTO:
        return True
    given = graph.quantization
    return given is not None and given.activations is not None and given.encodings is None


def takes_calibration(graph: Graph) -> bool:
    """Whether samples change the graph: encodings may leave tensors to them."""
    given = graph.quantization
    quantized = given is not None and given.activations is not None
    return quantized or base_of(graph.precision) == AUTO


def tries(graph: Graph) -> Iterator[tuple[str, Quantization]]:
    """What `precision: auto` tries first: each word's bits with the graph's other settings."""
    for word in graph.auto_from:
        meant = WORDS[word]
        assert meant is not None
        if graph.quantization is not None:
            meant = replace(
                graph.quantization,
                weights=meant.weights,
                activations=meant.activations,
                # the HTP takes 4 bits in no other way
                per_channel=graph.quantization.per_channel or meant.weights == 4,
            )
        yield word, meant


def without(graph: Graph, words: Collection[str]) -> Graph:
    """The graph with fewer words to try, and so with a word of its own for the search."""
    left = tuple(word for word in graph.auto_from if word not in words)
    return replace(graph, auto_from=left, precision=auto_word(graph.quantization, left))


def _bits(quantization: Quantization) -> str:
    weights = "" if quantization.weights is None else f"w{quantization.weights}"
    activations = "" if quantization.activations is None else f"a{quantization.activations}"
    return weights + activations


def _digits(quantization: Quantization) -> str:
    return digest_json(_written(quantization))[:6]


def _written(quantization: Quantization) -> dict[str, Json]:
    """Without defaults, so that a key that comes later changes no name."""
    usual = asdict(Quantization())
    return {name: value for name, value in asdict(quantization).items() if value != usual[name]}
