"""The toolchain ort: what of a recipe cannot work on a chip, and what goes into the key."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from qnnbuild.errors import Problem, Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import Chip, ContextOptions, FileSource, Graph, Scalar
from qnnbuild.toolchains.ort_options import BY_NAME, Option, Scope, settable
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
    written = graph(enable_htp_monolithic_lstm=False, htp_graph_finalization_optimization_mode=0)

    assert params(written, CHIPS["SM8750"]) == plain


def test_run_time_options_change_no_key_and_are_told_to_the_app():
    plain = params(graph(), CHIPS["SM8750"])
    fast = graph(htp_performance_mode="burst", rpc_control_latency=100)

    assert params(fast, CHIPS["SM8750"]) == plain
    assert run_time_options(fast) == {"htp_performance_mode": "burst", "rpc_control_latency": "100"}


def test_an_option_of_the_bytes_that_an_app_must_say_again_is_told_to_it_as_well():
    shared = graph(enable_htp_shared_memory_allocator=True)

    assert params(shared, CHIPS["SM8750"])["options"] == {"enable_htp_shared_memory_allocator": "1"}
    assert run_time_options(shared) == {"enable_htp_shared_memory_allocator": "1"}


def test_profiling_has_a_file_without_which_no_session_starts():
    assert run_time_options(graph(profiling_level="basic")) == {
        "profiling_level": "basic",
        "profiling_file_path": "vad_profiling.csv",
    }
    given = graph(profiling_level="optrace", profiling_file_path="mine.csv")
    assert run_time_options(given)["profiling_file_path"] == "mine.csv"
    assert run_time_options(graph(profiling_level="off")) == {"profiling_level": "off"}


def test_what_the_plugin_does_by_itself_in_this_recipe_changes_no_key():
    """Without the CPU it quantizes the borders on the NPU, whatever its documentation says."""
    strict = graph(offload_graph_io_quantization=0)
    allowed = replace(strict, cpu_fallback="allow")

    assert params(strict, CHIPS["SM8750"])["options"] == {}
    assert params(allowed, CHIPS["SM8750"])["options"] == {"offload_graph_io_quantization": "0"}


def test_two_names_of_one_chip_are_one_work():
    assert params(graph(), CHIPS["SA8540P"]) == params(graph(), CHIPS["SA8540"])


@pytest.mark.parametrize("option", settable(), ids=lambda option: option.name)
def test_an_option_is_in_the_key_when_it_changes_bytes_and_never_else(option: Option):
    usual: dict[str, Scalar] = {"switch": 1, "number": 2, "path": "a.csv"}
    others_than_default = [value for value in option.values if value != option.default]
    value = others_than_default[0] if others_than_default else usual[option.form]
    others = {p.name: p.values[0] for p in option.needs if BY_NAME[p.name].settable}
    allowed = replace(graph(**others), cpu_fallback="allow")
    given = replace(with_options("fp16", {**others, option.name: value}), cpu_fallback="allow")
    off = option.name == "offload_graph_io_quantization"  # its default is 1
    given = replace(given, options={"ort": {option.name: 0}}) if off else given

    same = params(given, CHIPS["SC8480XP"]) == params(allowed, CHIPS["SC8480XP"])

    assert same == (option.scope is not Scope.BYTES)
    told = run_time_options(given)
    assert (option.name in told) == (option.scope is Scope.RUN_TIME or option.at_run)
