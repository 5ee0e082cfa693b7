"""Layouts that the SDK's converters would refuse are told before anything runs."""

from __future__ import annotations

from typing import Any

from qnnbuild.model.recipe import FileSource, Graph, InputSpec, OutputSpec
from qnnbuild.toolchains.qairt_inputs import input_problems, word_problems


def told(spec: InputSpec, **options: Any) -> list[str]:
    graph = Graph(
        name="m",
        source=FileSource(file="m.onnx"),
        inputs={"x": spec},
        options={"qairt": options},
    )
    return [f"{problem.message} | {problem.hint}" for problem in input_problems(graph)]


def test_layouts_that_the_converter_knows_are_right() -> None:
    assert told(InputSpec(layout="NTF")) == []
    assert told(InputSpec(layout="NCHW", shape=(1, 3, 8, 8))) == []
    assert told(InputSpec(layout="NONTRIVIAL", shape=(1, 2))) == []
    assert told(InputSpec(shape=(1, 2))) == []


def test_another_one_has_the_nearest_as_its_hint() -> None:
    (said,) = told(InputSpec(layout="NTFC"))

    assert said.startswith("the SDK's converter knows no layout 'NTFC' | did you mean 'NTF'")


def test_as_many_dimensions_as_letters() -> None:
    assert told(InputSpec(layout="NTF", shape=(1, 80))) == [
        "the layout NTF has 3 dimensions, and 'x' has 2 | a layout of 2 letters, or NONTRIVIAL"
    ]


def test_where_ort_converts_layouts_say_nothing_to_the_sdk() -> None:
    assert told(InputSpec(layout="XYZ"), route="ort-dlc") == []


def test_a_name_that_would_be_an_option_of_the_tool_is_none() -> None:
    graph = Graph(
        name="m",
        source=FileSource(file="m.onnx"),
        inputs={"--x": InputSpec(), "x": InputSpec()},
        outputs={"y": OutputSpec(), "--out=/y": OutputSpec()},
    )

    assert [problem.message for problem in word_problems(graph)] == [
        "'--x' cannot be an input for the SDK's tools: it would be an option of theirs",
        "'--out=/y' cannot be an output for the SDK's tools: it would be an option of theirs",
    ]
