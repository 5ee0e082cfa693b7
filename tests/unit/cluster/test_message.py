"""What travels comes out as it went in."""

from __future__ import annotations

from qnnbuild.actions.action import (
    Action,
    OutputOf,
    Provenance,
    SampleFiles,
    SourceFiles,
    SourceOnnx,
)
from qnnbuild.actions.record import Tree
from qnnbuild.cluster.message import Answer, Around, Request, Way
from qnnbuild.engine.runner import Made
from qnnbuild.errors import NotGood, Problem, Span

TREE = Tree(files={"a/ü.txt": ("ab" * 32, 7)})
PLACE = Span(file="recipes/x.yaml", line=3, column=5, end=9, text="  x: 1")
ACTION = Action(
    name="verify/m@A",
    step="verify",
    call="qnnbuild.work.verify:verify",
    argv=("tool", "{in.x}"),
    params={"bars": {"sqnr_db": 30.5}, "list": [1, None, True]},
    inputs={
        "onnx": SourceOnnx(path="m.onnx"),
        "files": SourceFiles(patterns=("a", "b/*")),
        "samples": SampleFiles(patterns=("s",)),
        "made": OutputOf(action="fetch/m", output="model"),
        "history": Provenance(),
    },
    outputs=("o", "p"),
    tools=("package:onnx",),
    env={"A": "b"},
    passes=("HF_*",),
    deadline_s=12.5,
    places={"inputs.x": PLACE},
    lands="m/A",
    group="m",
    about="checks",
)
AROUND = Around(
    build="b",
    code="0.1 sha256:ab",
    top="/repo",
    way=Way(kind="store", store="/s", proof=("builds/x", "cd" * 32)),
    sdks=({"name": "qairt-2.40", "root": "${X}"},),
)


def test_a_request_comes_out_as_it_went_in() -> None:
    request = Request(
        around=AROUND, action=ACTION, key="ef" * 32, tool={"package:onnx": "1"}, inputs={"x": TREE}
    )

    assert Request.from_text(request.to_text()) == request


def test_what_was_made_comes_out_as_it_went_in() -> None:
    made = Made(outputs={"o": TREE}, warnings=("mind this",), seconds=1.5, peak_bytes=9)
    answer = Answer(worker="w1", made=made, log="said")

    assert Answer.from_text(answer.to_text()) == answer


def test_an_error_keeps_its_class_its_place_and_its_facts() -> None:
    problem = Problem(message="too bad", at=PLACE, facts=(("sqnr", "3 dB"),), hint="lower the bar")
    answer = Answer(worker="w1", error=NotGood.of([problem]))
    error = Answer.from_text(answer.to_text()).error

    assert isinstance(error, NotGood)
    assert error.problems == (problem,)
