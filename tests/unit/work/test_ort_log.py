"""The plugin's log: refused options, refused nodes and why, in the user's names."""

from __future__ import annotations

import pytest

from qnnbuild.work.ort_failure import explain
from qnnbuild.work.ort_log import (
    Refused,
    in_users_names,
    lines,
    refused_nodes,
    refused_options,
)
from qnnbuild.work.ort_session import Outcome

TIME = "2026-11-29 20:02:23.158276568"
PLUGIN = f"{TIME} [V:onnxruntime:, qnn_execution_provider.cc:1713 LogNodeSupport]"
USUAL = f"""\
 # LIBNATIVE: No alternate configuration present in libnative_tls.conf
\x1b[0;93m{TIME} [W:onnxruntime:, qnn_execution_provider.cc:933 QnnEp] File mapped weights feature \
is only available on Windows arm64 devices.\x1b[m
"""
VERBOSE = f"""{USUAL}{PLUGIN} Validation PASSED for 1 nodes in OrtNodeUnit (MatMul) :
\tOperator type: MatMul Node name: mm Node index: 0

{PLUGIN} Validation FAILED for 1 nodes in OrtNodeUnit (Erf) :
\tOperator type: Erf Node name: gelu/erf Node index: 1
\tREASON : Operators of type `Erf` are not supported by QNN EP.Erf node `gelu/erf` will not be \
assigned to QNN EP.

{TIME} [W:onnxruntime:, qnn_model_wrapper.cc:565 CreateQnnNode] QNN.backendValidateOpConfig() \
failed for node `conv_token_1` of type `Conv2d` with error code 3110

{PLUGIN} Validation FAILED for 1 nodes in OrtNodeUnit (Conv) :
\tOperator type: Conv Node name: conv_token_1 Node index: 6
\tREASON : Failed to add node.

{TIME} [E:onnxruntime:, qnn_execution_provider.cc:2453 GetCapabilityImpl] Unsupported nodes in QNN \
EP: {{ name: gelu/erf, type: Erf }}{{ name: conv_token_1, type: Conv }}, \
"""
REFUSED = (
    Refused(
        name="gelu/erf",
        operator="Erf",
        reason="Operators of type `Erf` are not supported by QNN EP.",
    ),
    Refused(
        name="conv_token_1",
        operator="Conv",
        reason="the compiler does not take Conv2d with these types and shapes (error 3110)",
    ),
)


def test_what_every_session_says_is_left_out():
    assert lines(USUAL) == []


def test_refused_nodes_come_with_their_reasons():
    assert refused_nodes(VERBOSE) == REFUSED


def test_without_a_verbose_log_the_names_are_told():
    named = VERBOSE.splitlines()[-1]

    assert refused_nodes(named) == (
        Refused(name="gelu/erf", operator="Erf"),
        Refused(name="conv_token_1", operator="Conv"),
    )


def test_changed_names_are_mapped_back_by_the_longest_prefix():
    changed = [
        Refused(name="conv_token_1", operator="Conv"),
        Refused(name="conv_2_token_7", operator="Conv"),
        Refused(name="mm/MatMulAddFusion", operator="Gemm"),
        Refused(name="Transpose_token_3", operator="Transpose"),
    ]
    mapped = in_users_names(changed, ["conv", "conv_2", "mm", ""])

    assert [node.name for node in mapped] == ["conv", "conv_2", "mm", "Transpose_token_3"]


@pytest.mark.parametrize(
    ("line", "refused"),
    [
        (
            (
                "[W:onnxruntime:, qnn_execution_provider.cc:266 ParseVtcmSize] "
                "Invalid vtcm_mb: abc will be skipped"
            ),
            ["Invalid vtcm_mb: abc will be skipped"],
        ),
        (
            (
                "[W:onnxruntime:, qnn_execution_provider.cc:307 ParseSocModel] "
                "Unrecognized soc_model 'abc'. Expected a numeric ID"
            ),
            ["Unrecognized soc_model 'abc'. Expected a numeric ID"],
        ),
        (
            (
                "[E:onnxruntime:, qnn_execution_provider.cc:2453 GetCapabilityImpl] "
                "Unsupported nodes in QNN EP: { name: skipped, type: Erf }, "
            ),
            [],
        ),
        ("[V:onnxruntime:, a.cc:1 F] an invalid thing, told to developers only", []),
    ],
)
def test_lines_by_which_an_option_is_refused_are_found(line: str, refused: list[str]):
    assert list(refused_options(f"{USUAL}{TIME} {line}\n")) == refused


def test_a_failure_names_node_operator_and_reason():
    words = "This session contains graph nodes that are assigned to the default CPU EP."
    said = f"[ONNXRuntimeError] : 1 : FAIL : {words}"
    error = explain("vad", "SM8750", Outcome(error=said, crash=None, log=USUAL), REFUSED[:1])

    assert error.message == "'vad' does not compile for SM8750: 1 node is refused"
    assert error.facts == (
        ("node", "gelu/erf (Erf): Operators of type `Erf` are not supported by QNN EP."),
        (
            "the tool says",
            "This session contains graph nodes that are assigned to the default CPU EP.",
        ),
    )
    assert error.hint == "cpu_fallback: allow, or other operators in the model"
    assert (error.place, error.exit_code) == ("graph", 4)


def test_a_failure_of_the_whole_graph_is_explained():
    said = (
        "[ONNXRuntimeError] : 11 : EP_FAIL : Failed to finalize QNN graph. Error: MEM, Code: 1002"
    )
    error = explain("vad", "SM8350", Outcome(error=said, crash=None, log=USUAL), ())

    assert error.message == (
        "'vad' does not compile for SM8350: "
        "the compiler cannot lay the graph out in the chip's memory (error 1002)"
    )
    assert error.facts == (
        ("the tool says", "Failed to finalize QNN graph. Error: MEM, Code: 1002"),
    )


def test_a_crash_of_the_compiler_is_told_with_its_last_lines():
    log = f"{USUAL}{TIME} [E:onnxruntime:, qnn.cc:1 F] something went wrong\n"
    error = explain("vad", "SM8750", Outcome(error=None, crash="SIGSEGV", log=log), ())

    assert error.message == "the compiler crashed on 'vad' for SM8750 (SIGSEGV)"
    assert error.facts == (("last lines", "something went wrong"),)


def test_reasons_alone_name_the_nodes_too():
    allowed = "\n".join(VERBOSE.splitlines()[:-1])

    assert refused_nodes(allowed) == REFUSED
