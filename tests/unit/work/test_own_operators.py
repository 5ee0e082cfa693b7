"""Graphs with operators of the user's own, through the whole of prepare."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import onnx
import pytest

from qnnbuild.formats.op_definition import read_op_definitions
from qnnbuild.model.recipe import FileSource, Graph
from qnnbuild.steps.prepare import params
from qnnbuild.work.op_packages import OPERATORS
from qnnbuild.work.own_libraries import own_domains, own_option
from qnnbuild.work.prepare import prepare
from qnnbuild.work.run import Run, WorkError
from tests.libraries import DEFINITION, SHAPE, model

KNOWN: dict[str, Any] = {"MyAdd": None}


@pytest.fixture(autouse=True)
def _private_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def defined() -> dict[str, Any]:
    known = read_op_definitions(DEFINITION.encode()).operators
    return {name: asdict(one) for name, one in known.items()}


def prepared(given: onnx.ModelProto, known: dict[str, Any] | None = None) -> Run:
    inputs = {"model": Path("in/model"), "operators": Path("in/operators")}
    outputs = {name: Path("out", name) for name in ("model", "baseline", "names", "report")}
    for folder in [*inputs.values(), *outputs.values()]:
        folder.mkdir(parents=True)
    onnx.save(given, str(inputs["model"] / "model.onnx"))
    (inputs["operators"] / OPERATORS).write_text(json.dumps(known or KNOWN))
    wanted = params(Graph(name="g", source=FileSource(file="g.onnx")), "ort")
    run = Run(params=wanted, inputs=inputs, outputs=outputs)
    prepare(run)
    return run


def failed(given: onnx.ModelProto, known: dict[str, Any] | None = None) -> WorkError:
    with pytest.raises(WorkError) as caught:
        prepared(given, known)
    return caught.value


def test_an_operator_with_a_package_passes_and_keeps_its_shape():
    run = prepared(model())
    made = onnx.load(str(run.outputs["model"] / "model.onnx"))
    shapes = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in made.graph.value_info
    }

    assert [node.op_type for node in made.graph.node] == ["Relu", "MyAdd", "Sigmoid"]
    assert shapes["c"] == SHAPE


def test_it_is_said_that_nothing_can_be_compared():
    run = prepared(model())
    report = json.loads((run.outputs["report"] / "report.json").read_text())

    assert report["comparison"] == {"why_not": "the CPU does not know MyAdd"}
    assert report["on_cpu"] == []
    assert [one.message for one in run.warnings] == [
        "prepared and original cannot be compared: the CPU does not know MyAdd"
    ]


def test_an_operator_without_a_package_is_told_how_to_give_one():
    error = failed(model("Other"))

    assert error.message == "nobody knows the operator 'Other' of domain 'example'"
    assert error.hint is not None
    assert "op_packages:" in error.hint


def test_a_package_that_no_node_needs_is_an_error():
    error = failed(model(), {"MyAdd": None, "MyAd": None})

    assert (error.message, error.place) == ("no node of the graph is a 'MyAd'", "op_packages.MyAd")
    assert error.hint == "did you mean 'MyAdd'?"


def test_an_operator_of_onnx_cannot_be_replaced():
    error = failed(model(), {"MyAdd": None, "Relu": None})

    assert error.message == (
        "'Relu' is an operator of ONNX in this graph, which no package can replace"
    )


@pytest.mark.parametrize("shape", [[], ["N", 8]])
def test_the_file_has_to_say_what_it_makes(shape: list[int | str]):
    error = failed(model(shape=shape))

    assert error.message.startswith("node 'mine' (MyAdd) makes 'c', of which the file says ")
    assert error.place == "op_packages.MyAdd"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (model(inputs=3), "it has 3 inputs"),
        (model(scal=1.0), "it has an attribute 'scal'"),
        (model(domain="a;b"), "its domain 'a;b' has one of :;, in it"),
    ],
)
def test_a_node_that_is_not_as_the_definition_says_is_an_error(given: onnx.ModelProto, said: str):
    assert failed(given, defined()).message == (
        f"node 'mine' (MyAdd) is not as its package says: {said}"
    )


def test_a_type_that_the_definition_does_not_have_is_a_warning():
    run = prepared(model(scale=1.0), defined())

    assert run.warnings[0].message == (
        "node 'mine' (MyAdd): output 'sum' gets float32, and the XML has float_16"
    )


def test_the_plugin_is_told_domains_and_libraries():
    onnx.save(model(), "model.onnx")
    given = {"op_packages": "MyAdd:./libMyAdd.so:Provide:CPU"}

    assert own_domains(given, Path("model.onnx")) == {"ORT_QNN_CUSTOM_OP_DOMAINS": "example:MyAdd"}
    assert own_option(given) == given
    assert (own_domains({}, Path("model.onnx")), own_option({})) == ({}, {})
