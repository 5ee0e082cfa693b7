"""What the SDK's utility tells of a binary, in every form that programs were seen to read."""

from __future__ import annotations

import json

import pytest

from qnnbuild.formats.context_json import BorderTensor, read_context_json
from qnnbuild.formats.format_error import FormatError

TENSOR = {
    "info": {
        "name": "x",
        "dataType": "QNN_DATATYPE_UFIXED_POINT_16",
        "dimensions": [1, 1000, 80],
        "quantizeParams": {
            "definition": "QNN_DEFINITION_DEFINED",
            "scaleOffset": {"scale": 0.5, "offset": -32768},
        },
    }
}
PLAIN = {
    "info": {
        "name": "y",
        "dataType": "QNN_DATATYPE_FLOAT_32",
        "currentDimensions": [4],
        "quantizeParams": {"definition": "QNN_DEFINITION_UNDEFINED"},
    }
}
GRAPH = {
    "info": {
        "graphName": "encoder",
        "graphInputs": [TENSOR],
        "graphOutputs": [PLAIN],
        "graphBlobInfo": {
            "info": {
                "spillFillBufferSize": 12,
                "vtcmSize": 8,
                "optimizationLevel": 3,
                "numHvxThreads": 4,
            }
        },
    }
}
INFO = {
    "buildId": "v2.40.0.251030114326_189385",
    "coreApiVersion": "2.29.0",
    "backendApiVersion": {"major": 5, "minor": 40, "patch": 0},
    "contextBlobVersion": "3.3.4",
    "socModel": 69,
    "contextMetadata": {"info": {"dsp arch": 79, "soc model": 69}},
    "graphs": [GRAPH],
}


def text(**changes: object) -> str:
    return json.dumps({"info": {**INFO, **changes}})


def test_what_is_told_is_read() -> None:
    facts = read_context_json(text())

    assert (facts.build, facts.arch, facts.soc_model) == ("v2.40.0.251030114326_189385", 79, 69)
    assert (facts.core_api, facts.backend_api, facts.blob_version) == ("2.29.0", "5.40.0", "3.3.4")
    (graph,) = facts.graphs
    assert (graph.name, graph.vtcm_mb, graph.optimization, graph.hvx_threads) == (
        "encoder",
        8,
        3,
        4,
    )
    assert graph.spill_fill_bytes == 12
    assert graph.inputs == (
        BorderTensor(name="x", dtype="uint16", shape=(1, 1000, 80), scale=0.5, offset=-32768),
    )
    assert graph.outputs == (BorderTensor(name="y", dtype="float32", shape=(4,)),)


def test_other_spellings_mean_the_same() -> None:
    blob = GRAPH["info"]["graphBlobInfo"]
    graph = {"info": {**GRAPH["info"], "graphBlobInfo": [blob]}}
    facts = read_context_json(text(contextMetadata={"dspArch": "79"}, graphs=[graph], socModel=0))

    assert facts.arch == 79
    assert facts.graphs[0].optimization == 3
    assert not facts.soc_model


def test_what_is_not_told_is_none() -> None:
    facts = read_context_json(json.dumps({"info": {"buildId": "v2.40", "graphs": [{"info": {}}]}}))

    assert (facts.arch, facts.soc_model, facts.graphs[0].vtcm_mb) == (None, None, None)


@pytest.mark.parametrize("bad", ["", "{", "[]", "{}", '{"info": {}}'])
def test_anything_else_is_an_error(bad: str) -> None:
    with pytest.raises(FormatError):
        read_context_json(bad)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"buildId": "v1", "socModel": 1e999}',
        (
            '{"buildId": "v1", "graphs": [{"graphInputs": [{"quantizeParams": {"definition": '
            '"QNN_DEFINITION_DEFINED", "scaleOffset": {"scale": []}}}]}]}'
        ),
        '{"buildId": "v1", "socModel": "' + "9" * 5000 + '"}',
    ],
)
def test_numbers_and_depths_without_bounds_are_refused(text: str):
    with pytest.raises(FormatError):
        read_context_json(text)
