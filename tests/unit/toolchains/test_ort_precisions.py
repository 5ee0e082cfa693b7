"""Which precision works on which chip, and what is said where it does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.precisions import WORDS, auto_word
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph, Quantization
from qnnbuild.toolchains.ortqnn import OrtQnn

CHIPS = packaged_chips()
ORT = OrtQnn()
AT = Span(file="recipes/vad.yaml", line=9, column=12)
GRAPH = Graph(name="vad", source=FileSource(file="vad.onnx"), places={"precision": AT})


def word(name: str) -> Graph:
    return replace(GRAPH, precision=name, quantization=WORDS[name])


def mapping(**given: object) -> Graph:
    return replace(GRAPH, precision="w8a8-123456", quantization=Quantization(**given))  # type: ignore[arg-type]


def told(graph: Graph, chip: str) -> list[tuple[str, str | None]]:
    return [(problem.message, problem.hint) for problem in ORT.problems(graph, CHIPS[chip])]


def refused(graph: Graph) -> set[str]:
    return {chip.name for chip in CHIPS if list(ORT.problems(graph, chip))}


@pytest.mark.parametrize("name", ["w8a8", "w8a16", "w4a16", "w4a8", "qdq", "auto"])
def test_what_every_chip_takes(name: str):
    assert refused(word(name)) == set()


def test_weights_of_16_bits_want_v73():
    assert refused(word("w16a16")) == {chip.name for chip in CHIPS if chip.arch < 73}
    assert told(word("w16a16"), "SM8450") == [
        (
            (
                "'vad' cannot be w16a16 on SM8450: weights and activations of 16 bits together "
                "need HTP v73"
            ),
            'precision: w8a16; for the older chips only: only: {"arch<73": {precision: w8a16}}',
        )
    ]


def test_one_chip_has_bf16():
    assert refused(word("bf16")) == {chip.name for chip in CHIPS} - {"SC8480XP"}
    assert told(word("bf16"), "SM8750") == [
        (
            "'vad' cannot be bf16 on SM8750: SM8750 has no bf16",
            "precision: fp16; for this chip only: only: {SM8750: {precision: fp16}}",
        )
    ]


def test_bf16_is_an_option_of_the_compile():
    params = ORT.context(word("bf16"), CHIPS["SC8480XP"], ContextOptions()).params

    assert params["options"] == {"htp_bf16_enable": "1"}


def test_float_activations_want_a_chip_that_calculates_floats():
    assert told(word("w8"), "SM8750") == told(word("w8"), "SM8350") == []
    assert told(word("w8"), "SM8635") == [
        (
            (
                "'vad' cannot be w8 on SM8635: SM8635 has no float arithmetic, and activations "
                "stay float"
            ),
            (
                "precision: w8a16, with calibration; for this chip only: "
                "only: {SM8635: {precision: w8a16}}"
            ),
        )
    ]


def test_operators_that_stay_float_want_such_a_chip_too():
    graph = mapping(float_operators=("Softmax",))

    assert told(graph, "SM8750") == []
    assert told(graph, "SM8635") == [
        (
            (
                "'vad' cannot be w8a8-123456 on SM8635: SM8635 has no float arithmetic, and some "
                "operators stay float"
            ),
            "leave 'float' out, or sixteen_bit: instead of it",
        )
    ]


@pytest.mark.parametrize(
    ("graph", "said", "hint"),
    [
        (
            mapping(weights=4, activations=None, per_channel=True),
            "weights of 4 bits beside float activations give wrong numbers",
            "precision: w8, or w4a16 with calibration",
        ),
        (
            mapping(weights=4, activations=16, per_channel=False),
            "weights of 4 bits need a scale for each channel",
            "per_channel: true",
        ),
        (
            mapping(weights=16, activations=8),
            "weights of 16 bits need activations of 16 bits",
            "precision: w16a16, or w8a8",
        ),
    ],
)
def test_what_no_chip_takes(graph: Graph, said: str, hint: str):
    assert told(graph, "SM8850") == [(f"'vad' cannot be w8a8-123456: {said}", hint)]


def test_a_search_is_judged_by_its_tries_and_not_before():
    graph = replace(mapping(weights=4), precision="auto-123456", auto_from=("w8a8",))

    assert told(graph, "SM8450") == []


def auto(*words: str, **given: object) -> Graph:
    template = Quantization(**given) if given else None  # type: ignore[arg-type]
    name = auto_word(template, words)
    return replace(GRAPH, precision=name, auto_from=words, quantization=template)


def searched(graph: Graph, chip: str) -> tuple[str, ...]:
    return ORT.searchable(graph, CHIPS[chip]).auto_from


@pytest.mark.parametrize("per_channel", [True, False])
def test_weights_of_16_bits_are_symmetric(per_channel: bool) -> None:
    wanted = {"weights": 16, "per_channel": per_channel, "symmetric_weights": False}

    assert told(mapping(activations=16, **wanted), "SM8750") == [
        (
            (
                "'vad' cannot be w8a8-123456: asymmetric weights of 16 bits are refused by half "
                "of the operators"
            ),
            "leave 'symmetric: {weights: false}' out: in 16 bits it gains nothing",
        )
    ]
    assert refused(mapping(weights=8, symmetric_weights=False)) == set()


def test_a_search_leaves_out_what_the_chip_does_not_take() -> None:
    assert searched(auto("w8a8", "w16a16"), "SM8450") == ("w8a8",)
    assert searched(auto("w8a8", "w16a16"), "SM8750") == ("w8a8", "w16a16")
    assert refused(auto("w8a8", "w16a16")) == set()


def test_a_search_among_fewer_words_has_a_word_of_its_own() -> None:
    narrowed = ORT.searchable(auto("w8a8", "w8a16", "w16a16"), CHIPS["SM8450"])

    assert narrowed.precision == "auto"
    assert ORT.searchable(auto("w8a8", "w16a16"), CHIPS["SM8450"]).precision.startswith("auto-")


def test_a_search_without_a_word_that_works_is_refused() -> None:
    (problem,) = ORT.problems(auto("w16a16", "w8a8", float_nodes=("a",)), CHIPS["SM7325"])

    assert problem.message.endswith(" on SM7325: none of the words to try works there")
    assert problem.at == AT
    assert problem.facts == (
        ("chip", "SM7325, HTP v68"),
        ("w16a16", "weights and activations of 16 bits together need HTP v73"),
        ("w8a8", "SM7325 has no float arithmetic, and some operators stay float"),
    )
    assert problem.hint == "precision: auto tries w8a8 and w8a16, which work on all chips"


def test_a_word_that_no_chip_takes_is_told_whatever_stands_beside_it() -> None:
    graph = auto("w8a8", "w16a16", symmetric_weights=False)

    assert told(graph, "SM8750")[0][0] == (
        "'vad' cannot be w16a16: asymmetric weights of 16 bits are refused by half of the operators"
    )
