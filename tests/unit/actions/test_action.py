from __future__ import annotations

from qnnbuild.actions.action import Action, OutputOf, Provenance, SourceFiles, SourceOnnx


def test_an_action_needs_each_maker_of_its_inputs_once_and_in_order():
    action = Action(
        name="bundle/m",
        step="bundle",
        call="x:y",
        inputs={
            "context": OutputOf(action="context/m", output="context"),
            "model": SourceOnnx(path="m.onnx"),
            "report": OutputOf(action="prepare/m", output="report"),
            "facts": OutputOf(action="context/m", output="facts"),
            "license": SourceFiles(patterns=("LICENSE",)),
            "provenance": Provenance(),
        },
        outputs=("bundle",),
    )

    assert action.needs() == ("context/m", "prepare/m")
