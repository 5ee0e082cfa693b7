"""The toolchain ort: what of a recipe cannot work on a chip, and what goes into the key."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from qnnbuild.errors import Problem, Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Chip, ContextOptions, FileSource, Graph, Scalar
from qnnbuild.toolchains.ort_options import BY_NAME, ELSEWHERE, OPTIONS, Scope
from qnnbuild.toolchains.ortqnn import OrtQnn, run_time_options

CHIPS = packaged_chips()
ORT = OrtQnn()
AT = Span(file="recipes/vad.yaml", line=9, column=12)


def graph(*, precision: str = "fp16", **options: Scalar) -> Graph:
    return with_options(precision, options)


def with_options(precision: str, options: Mapping[str, Scalar]) -> Graph:
    return Graph(
        name="vad",
        source=FileSource(file="vad.onnx"),
        precision=precision,
        options={"ort": options} if options else {},
        places={"precision": AT, **{f"options.ort.{name}": AT for name in options}},
    )


def problems(graph: Graph, chip: str = "SM8750") -> list[Problem]:
    return list(ORT.problems(graph, CHIPS[chip]))


def told(graph: Graph, chip: str = "SM8750") -> list[tuple[str, str | None]]:
    return [(problem.message, problem.hint) for problem in problems(graph, chip)]


def test_a_plain_graph_has_no_problem():
    assert problems(graph()) == []


def test_an_unknown_option_is_told_with_the_nearest_one():
    assert told(graph(vtcm_md=4)) == [
        ("the toolchain ort has no option 'vtcm_md'", "did you mean 'vtcm_mb'? all options: "
         + ", ".join(option.name for option in OPTIONS)),
    ]  # fmt: skip


def test_a_problem_stands_where_the_user_wrote_it():
    assert [problem.at for problem in problems(graph(vtcm_mb=99))] == [AT]


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_an_option_that_is_said_another_way_is_refused_with_that_way(name: str):
    assert told(with_options("fp16", {name: 1})) == [
        (f"{name} is not an option here", ELSEWHERE[name])
    ]


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "htp_graph_finalization_optimization_mode",
            9,
            "htp_graph_finalization_optimization_mode: 9 is none of 0, 1, 2, 3",
        ),
        (
            "htp_graph_finalization_optimization_mode",
            "fast",
            "htp_graph_finalization_optimization_mode: 'fast' is none of 0, 1, 2, 3",
        ),
        (
            "htp_graph_finalization_optimization_mode",
            True,
            "htp_graph_finalization_optimization_mode: True is none of 0, 1, 2, 3",
        ),
        ("vtcm_mb", "abc", "vtcm_mb: 'abc' is not a whole number"),
        ("vtcm_mb", 1.5, "vtcm_mb: 1.5 is not a whole number"),
        ("vtcm_mb", True, "vtcm_mb: True is not a whole number"),
        ("vtcm_mb", -1, "vtcm_mb: -1 is out of range: at least 1"),
        ("vtcm_mb", 0, "vtcm_mb: 0 is out of range: at least 1"),
        ("vtcm_mb", 9, "vtcm_mb: 9 is more than SM8750 has"),
        ("extended_udma", 2, "extended_udma: 2 is not on or off: 0, 1, true or false"),
        ("extended_udma", True, "extended_udma needs HTP v81; SM8750 has v79"),
        (
            "htp_performance_mode",
            "fast",
            (
                "htp_performance_mode: 'fast' is none of burst, balanced, default, "
                "high_performance, high_power_saver, low_balanced, low_power_saver, power_saver, "
                "extreme_power_saver, sustained_high_performance"
            ),
        ),
        ("rpc_control_latency", -5, "rpc_control_latency: -5 is out of range: at least 0"),
    ],
)
def test_a_bad_value_is_told_with_the_good_ones(name: str, value: Scalar, message: str):
    assert [problem.message for problem in problems(with_options("fp16", {name: value}))] == [
        message
    ]


def test_good_values_pass():
    written = graph(
        htp_graph_finalization_optimization_mode=3,
        vtcm_mb=8,
        enable_htp_spill_fill_buffer=True,
        offload_graph_io_quantization=0,
        extended_udma=False,
        htp_performance_mode="burst",
        rpc_control_latency=100,
    )

    assert problems(written) == []


def test_an_option_of_newer_chips_passes_on_one():
    assert problems(graph(extended_udma=True), "SM8850") == []


def test_fp16_needs_a_chip_that_has_it():
    assert told(graph(), "SM7325") == [
        (
            "'vad' cannot be fp16 on SM7325: SM7325 has no fp16",
            (
                "precision: w8a16, with calibration; for this chip only: "
                "only: {SM7325: {precision: w8a16}}"
            ),
        )
    ]


def test_the_one_chip_that_calculates_in_fp32_is_offered_it():
    assert told(graph(), "SM8350") == [
        (
            "'vad' cannot be fp16 on SM8350: SM8350 has no fp16",
            "precision: fp32; for this chip only: only: {SM8350: {precision: fp32}}",
        )
    ]
    assert told(graph(precision="fp32"), "SM8350") == []


def test_fp32_is_not_promised_where_the_chip_calculates_in_fp16():
    assert told(graph(precision="fp32")) == [
        (
            "'vad' cannot be fp32 on SM8750: SM8750 calculates float models in fp16",
            "precision: fp16; for this chip only: only: {SM8750: {precision: fp16}}",
        )
    ]


def test_a_quantized_graph_fits_every_chip():
    assert [c.name for c in CHIPS if list(ORT.problems(graph(precision="qdq"), c))] == []


def params(graph: Graph, chip: Chip) -> Mapping[str, object]:
    return ORT.context(graph, chip, ContextOptions()).params


def test_convert_is_one_work_for_both_float_precisions():
    assert ORT.convert(graph()) == ORT.convert(graph(precision="fp32"))
    assert ORT.convert(graph()) != ORT.convert(graph(precision="qdq"))


def test_a_context_is_told_what_the_binary_must_say():
    work = ORT.context(graph(vtcm_mb=4), CHIPS["SM8750"], ContextOptions(embed=True))

    assert work.call == "qnnbuild.work.context_ort:context"
    assert work.outputs == ("context", "facts")
    assert {"package:onnxruntime", "package:onnxruntime-qnn"} <= set(work.tools)
    assert work.params == {
        "graph": "vad",
        "soc_model": 69,
        "options": {"vtcm_mb": "4"},
        "cpu_fallback": False,
        "embed": True,
        "reads_back": {"soc_type": "SM8750", "arch": 79, "vtcm_mb": 4, "hvx_threads": 6},
    }


def test_a_default_that_is_written_out_changes_no_key():
    plain = params(graph(), CHIPS["SM8750"])
    written = graph(offload_graph_io_quantization=True, htp_graph_finalization_optimization_mode=0)

    assert params(written, CHIPS["SM8750"]) == plain


def test_run_time_options_change_no_key_and_are_told_to_the_app():
    plain = params(graph(), CHIPS["SM8750"])
    fast = graph(htp_performance_mode="burst", rpc_control_latency=100)

    assert params(fast, CHIPS["SM8750"]) == plain
    assert run_time_options(fast) == {"htp_performance_mode": "burst", "rpc_control_latency": "100"}


def test_two_names_of_one_chip_are_one_work():
    assert params(graph(), CHIPS["SA8540P"]) == params(graph(), CHIPS["SA8540"])


def test_every_option_is_whole():
    for option in OPTIONS:
        assert BY_NAME[option.name] is option
        assert option.about
        assert option.kind in ("switch", "number", "choice")
        assert bool(option.values) == (option.kind == "choice")
        if option.kind == "choice":
            assert option.default in option.values
    assert {option.scope for option in OPTIONS} == set(Scope)
