"""Options of the SDK: what each takes, from which version on, and what is told of a wrong one."""

from __future__ import annotations

from typing import Any

import pytest

from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import FileSource, Graph
from qnnbuild.toolchains.qairt_option_checks import option_problems
from qnnbuild.toolchains.qairt_options import SECTIONS, chip_word, data, has, option_of

CHIP = packaged_chips()["SM8550"]


def problems(section: str, options: Any, version: str = "2.40") -> list[str]:
    """Messages, each with its hint."""
    at = Span(file="r.yaml", line=1, column=1)
    graph = Graph(
        name="m",
        source=FileSource(file="m.onnx"),
        options={"qairt": {section: options}},
        places={"options": at},
    )
    found = list(option_problems(graph, CHIP, version))
    assert all(problem.at == at for problem in found if " with " not in problem.message)
    return [f"{problem.message} | {problem.hint}" for problem in found]


def test_what_is_right_is_right() -> None:
    assert problems("converter", {"algorithms": "cle", "use_per_row_quantization": True}) == []
    assert problems("library", {"targets": ["aarch64-android"]}) == []
    assert (
        problems("htp", {"O": 1, "vtcm_mb": 4, "dlbc": 1, "perf_profile": "burst", "custom": []})[
            1:
        ]
        == []
    )


def test_an_unknown_one_is_told_with_the_nearest() -> None:
    assert problems("converter", {"algorithm": "cle"}) == [
        "options.qairt.converter has no option 'algorithm' | did you mean 'algorithms'?"
    ]
    assert problems("htp", {"hvx_thread": 4}) == [
        "options.qairt.htp has no option 'hvx_thread' | did you mean 'hvx_threads'?"
    ]


def test_one_of_another_part_is_told_where_it_belongs() -> None:
    assert problems("converter", {"vtcm_mb": 4}) == [
        "options.qairt.converter has no option 'vtcm_mb' | it stands under options.qairt.htp"
    ]
    assert problems("vtcm_mb", 4) == [
        "options.qairt has no part 'vtcm_mb' | it stands under options.qairt.htp"
    ]
    assert problems("convertor", {}) == [
        (
            "options.qairt has no part 'convertor' | did you mean 'converter'? "
            "parts: converter, library, htp, extensions"
        )
    ]


def test_a_spelling_of_another_version_is_told_with_todays() -> None:
    assert problems("converter", {"act_bw": 16}) == [
        "act_bw is called act_bitwidth | precision: w8a16"
    ]
    assert problems("converter", {"float_bias_bw": 16}) == [
        "float_bias_bw is called float_bias_bitwidth | write float_bias_bitwidth"
    ]


def test_what_a_recipe_says_elsewhere_is_no_option() -> None:
    assert problems("converter", {"input_layout": "NTF"}) == [
        "input_layout is not an option here | inputs: {x: {layout: NTF}}"
    ]
    assert problems("htp", {"soc_model": 69}) == [
        "soc_model is not an option here | chips: says it"
    ]


@pytest.mark.parametrize(
    ("section", "options", "message"),
    [
        ("converter", {"algorithms": "clu"}, "algorithms: 'clu' is none of cle"),
        ("converter", {"no_simplification": 1}, "no_simplification: 1 is not true or false"),
        (
            "converter",
            {"percentile_calibration_value": 50},
            "percentile_calibration_value: 50 is out of range: at least 90 and at most 100",
        ),
        ("converter", {"preserve_io_layout": "x"}, "preserve_io_layout: 'x' is no list of names"),
        (
            "converter",
            {"input_type": {"x": "picture"}},
            "input_type: x: 'picture' is none of image, default, opaque",
        ),
        ("library", {"targets": ["windows"]}, ("targets: 'windows' is none of x86_64-linux-clang, "
         "aarch64-android, aarch64-ubuntu-gcc9.4, aarch64-oe-linux-gcc11.2, "
         "aarch64-oe-linux-gcc9.3, aarch64-qnx, windows-x86_64, windows-aarch64")),
        ("htp", {"O": 4}, "O: 4 is out of range: at least 1 and at most 3"),
        ("htp", {"O": "3"}, "O: '3' is not a whole number"),
        ("htp", {"dlbc": 2}, "dlbc: 2 is not 0 or 1"),
        ("htp", {"dlbc": True}, "dlbc: true is not 0 or 1"),
        ("htp", {"dlbc": 1.0}, "dlbc: 1.0 is not 0 or 1"),
        ("converter", {"percentile_calibration_value": float("nan")},
         "percentile_calibration_value: nan is not a number"),
        ("converter", {"model_version": "-x"},
         "model_version: '-x' would be an option of the tool"),
        ("converter", {"model_version": "{sdk}"},
         "model_version: '{sdk}' would become a folder of this machine"),
        ("converter", {"define_symbol": {"N": "{out.model}"}},
         "define_symbol: '{out.model}' would become a folder of this machine"),
        ("converter", {"restrict_quantization_steps": "--op_package_lib=/x.so:p"},
         "restrict_quantization_steps: '--op_package_lib=/x.so:p' would be an option of the tool"),
        ("converter", {"preserve_io_layout": ["x", "--custom_io", "/f.yaml"]},
         "preserve_io_layout: '--custom_io' would be an option of the tool"),
        ("converter", {"define_symbol": {"N": "--dry_run"}},
         "define_symbol: '--dry_run' would be an option of the tool"),
        ("converter", {"input_type": {"-x": "image"}},
         "input_type: '-x' would be an option of the tool"),
        ("htp", {"weights_packing": 1}, "weights_packing: 1 is not true or false"),
        ("htp", {"rpc_polling_time": 10000}, ("rpc_polling_time: 10000 is out of range: at least 0 "
         "and at most 9999")),
    ],
)  # fmt: skip
def test_a_wrong_value_is_told(section: str, options: Any, message: str) -> None:
    (told,) = problems(section, options)

    assert told.partition(" | ")[0] == message


@pytest.mark.parametrize("steps", ["-0x80 0x7F", "-128 127"])
def test_steps_of_quantization_may_be_below_zero(steps: str) -> None:
    assert problems("converter", {"restrict_quantization_steps": steps}) == []


def test_versions_have_their_own_options() -> None:
    assert problems("converter", {"keep_int64_inputs": True}) == [
        "keep_int64_inputs came with 2.42; the SDK is 2.40 | leave it out, or take a newer SDK"
    ]
    assert problems("converter", {"keep_int64_inputs": True}, "2.42.0.251225") == []
    assert problems("htp", {"fp16_relaxed_precision": 1}, "2.34") == []
    assert problems("htp", {"fp16_relaxed_precision": 1}) == [
        (
            "fp16_relaxed_precision does nothing since 2.35; the SDK is 2.40 | leave it out: "
            "float32 "
            "is calculated as fp16 in any case"
        )
    ]
    assert problems("htp", {"perf_profile": "llm_decode_burst"}, "2.48") == []
    assert "came with 2.48" in problems("htp", {"perf_profile": "llm_decode_burst"})[0]


def test_a_chip_has_its_limits() -> None:
    assert problems("htp", {"vtcm_mb": 16}) == [
        "vtcm_mb: 16 is more than SM8550 has | vtcm_mb: 8, or leave it out: then all of it is used"
    ]
    assert problems("htp", {"extended_udma": True}) == [
        (
            "extended_udma needs HTP v81; SM8550 has v73 | for the newer chips only: only: "
            '{"arch>=81": {options: …}}'
        )
    ]


def test_options_that_need_each_other_are_told() -> None:
    assert problems("converter", {"packed_max_seq": 2}, "2.42") == [
        (
            "packed_max_seq counts with apply_masked_softmax: compressed only | "
            "apply_masked_softmax: compressed"
        )
    ]
    assert problems("htp", {"custom": []}) == [
        "custom voltage corners count with perf_profile: custom only | perf_profile: custom"
    ]
    at = Span(file="r.yaml", line=1, column=1)
    graph = Graph(
        name="m",
        source=FileSource(file="m.onnx"),
        options={"qairt": {"converter": {"float_fallback": True}}},  # type: ignore[dict-item]
        places={"options.qairt.converter.float_fallback": at},
    )

    (problem,) = option_problems(graph, CHIP, "2.40")

    assert (problem.message, problem.at) == (
        "float_fallback wants encodings and no calibration",
        at,
    )


def test_the_chips_number_has_the_word_of_the_version() -> None:
    assert [chip_word(v) for v in ("2.40", "2.47.0.260601", "2.48", "2.49.0.260730")] == [
        "soc_id",
        "soc_id",
        "soc_model",
        "soc_model",
    ]


def test_versions_are_numbers() -> None:
    assert has("2.40.0.251030", "2.9")
    assert not has("2.9", "2.40")


def test_a_row_that_no_option_can_have_is_an_error() -> None:
    with pytest.raises(ValueError, match="no form 'numer'"):
        option_of({"name": "a", "form": "numer", "about": "x"})
    with pytest.raises(ValueError, match="vtcm"):
        option_of({"name": "vtcm", "form": "number", "abut": "x"})
    with pytest.raises(ValueError, match="what it is about"):
        option_of({"name": "vtcm", "form": "number"})


@pytest.mark.parametrize("section", SECTIONS)
def test_each_row_is_whole(section: str) -> None:
    for option in data().sections[section].values():
        assert option.form != "choice" or option.values
        assert section != "htp" or option.at, option.name
        assert option.used in ("gen", "run", "both")
