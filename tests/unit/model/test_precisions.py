"""The words of `precision:` and what a mapping becomes."""

from __future__ import annotations

import json
import re
from functools import cache

import pytest

from qnnbuild.model.chips import Chips, packaged_chips
from qnnbuild.model.precisions import (
    AUTO_FROM,
    GENIE,
    MIN_SQNR_DB,
    WORDS,
    base_of,
    tries,
    word_of,
)
from qnnbuild.model.recipe import Graph, Quantization
from qnnbuild.model.schemas import RECIPE, schema_text
from qnnbuild.model.targets import read_recipes

HEAD = "model: m\nlicense: MIT\nchips: [SM8750]\nsource: {file: m.onnx}\n"


@cache
def chips() -> Chips:
    return packaged_chips()


def graphs(precision: str, more: str = "calibration: {random: 8}") -> list[Graph]:
    text = f"graphs: {{g: {{precision: {precision}, {more}}}}}\n"
    return [target.graphs[0] for target in read_recipes([("recipes/r.yaml", HEAD + text)], chips())]


def graph(precision: str, more: str = "calibration: {random: 8}") -> Graph:
    return graphs(precision, more)[0]


def quantization(precision: str) -> Quantization | None:
    return graph(precision).quantization


def test_the_schema_knows_the_same_words_and_each_has_a_bar() -> None:
    rules = json.loads(schema_text(RECIPE))["$defs"]["precision"]["anyOf"]

    assert set(rules[0]["enum"]) == set(WORDS)
    assert set(MIN_SQNR_DB) == set(WORDS) - {GENIE}  # which no host runs


@pytest.mark.parametrize("word", [word for word, meant in WORDS.items() if meant])
def test_a_word_means_bits_and_keeps_its_name(word: str) -> None:
    found = graph(word)

    assert (found.precision, found.quantization) == (word, WORDS[word])


@pytest.mark.parametrize("word", ["fp16", "qdq"])
def test_a_word_for_floats_means_no_quantization_and_takes_no_calibration(word: str) -> None:
    found = graph(word)

    assert (found.precision, found.quantization, found.calibration) == (word, None, None)


def test_every_key_of_a_mapping_is_read() -> None:
    text = """{weights: 8, activations: 8, bias: 8, per_channel: true,
      symmetric: {weights: false, activations: true}, method: percentile, percentile: 99.9,
      sixteen_bit: {operators: Softmax, nodes: [/enc/*, /dec/*]}, float: {operators: [Sigmoid],
      nodes: /head/*}, overrides: {t: {quant_type: QUInt16, symmetric: true, axis: 0, rmin: -1,
      rmax: 1.5}}, encodings: ../enc.json}"""

    assert quantization(text) == Quantization(
        weights=8,
        activations=8,
        bias=8,
        per_channel=True,
        symmetric_weights=False,
        symmetric_activations=True,
        method="percentile",
        percentile=99.9,
        sixteen_bit_operators=("Softmax",),
        sixteen_bit_nodes=("/enc/*", "/dec/*"),
        float_operators=("Sigmoid",),
        float_nodes=("/head/*",),
        overrides={
            "t": {"quant_type": "QUInt16", "symmetric": True, "axis": 0, "rmin": -1, "rmax": 1.5}
        },
        encodings="enc.json",
    )


def test_a_mapping_that_says_what_a_word_says_has_its_name() -> None:
    assert graph("{weights: 8, activations: 16}").precision == "w8a16"
    assert graph("{method: minmax}").precision == "w8a8"
    assert graph("{weights: 4, activations: 16}").precision == "w4a16"
    assert graph("{weights_only: true}").precision == "w8"


def test_another_mapping_has_six_digits_of_its_own() -> None:
    names = [
        graph(f"{{{text}}}").precision
        for text in (
            "per_channel: false",
            "per_channel: false, method: minmax, weights: 8",  # defaults written out
            "method: entropy",
            "weights_only: true, per_channel: true",
        )
    ]

    assert re.fullmatch(r"w8a8-[0-9a-f]{6}", names[0])
    assert names[1] == names[0] != names[2]
    assert re.fullmatch(r"w8-[0-9a-f]{6}", names[3])
    assert [base_of(name) for name in names] == ["w8a8", "w8a8", "w8a8", "w8"]


def test_the_digits_stay_what_they_are() -> None:
    assert word_of(Quantization(per_channel=False)) == "w8a8-a57c79"


def test_a_percentile_without_a_number_has_one() -> None:
    found = quantization("{method: percentile}")

    assert found is not None
    assert found.percentile == 99.99


def test_auto_tries_the_usual_words() -> None:
    found = graph("auto")

    assert (found.precision, found.quantization, found.auto_from) == ("auto", None, AUTO_FROM)
    assert list(tries(found)) == [("w8a8", WORDS["w8a8"]), ("w8a16", WORDS["w8a16"])]


def test_auto_may_be_told_what_to_try_and_what_all_tries_share() -> None:
    found = graph("{auto: [w8a16, w4a16], method: entropy}")

    assert re.fullmatch(r"auto-[0-9a-f]{6}", found.precision)
    assert list(tries(found)) == [
        ("w8a16", Quantization(weights=8, activations=16, method="entropy")),
        ("w4a16", Quantization(weights=4, activations=16, method="entropy", per_channel=True)),
    ]


def test_what_all_tries_share_may_be_one_scale_a_tensor() -> None:
    found = list(tries(graph("{auto: [w8a8, w4a16], per_channel: false}")))

    assert [(word, meant.per_channel) for word, meant in found] == [
        ("w8a8", False),
        ("w4a16", True),  # the HTP takes 4 bits in no other way
    ]


def test_auto_in_full_is_auto() -> None:
    assert graph("{auto: [w8a8, w8a16]}").precision == "auto"


def test_a_variant_may_be_a_precision() -> None:
    text = "variants: {precision: [fp16, w8a8]}\ngraphs: {g: {precision: '{precision}'}}\n"
    text += "only: {w8a8: {graphs: {g: {calibration: {random: 8}}}}}\n"
    found = read_recipes([("recipes/r.yaml", HEAD + text)], chips())

    assert [(t.variant, t.graphs[0].precision) for t in found] == [
        ("fp16", "fp16"),
        ("w8a8", "w8a8"),
    ]
    assert found[0].graphs[0].axes_used == ("precision",)


def test_numbers_of_a_mapping_may_come_from_an_axis() -> None:
    text = "variants: {bits: [8, 16]}\n"
    text += "graphs: {g: {precision: {activations: '{bits}'}, calibration: {random: 8}}}\n"
    found = read_recipes([("recipes/r.yaml", HEAD + text)], chips())

    assert [target.graphs[0].precision for target in found] == ["w8a8", "w8a16"]


def test_what_takes_no_samples_needs_none() -> None:
    assert graph("w8", "simplify: true").calibration is None
    assert graph("{encodings: e.json}", "simplify: true").calibration is None
