"""The words of `check --operators`."""

from __future__ import annotations

from qnnbuild.commands.foreseen import Foreseen, as_data, lines
from qnnbuild.work.operators import Left
from qnnbuild.work.plugin_fusions import Expected
from qnnbuild.work.wrong_numbers import Wrong

NEG = Left(node="n", operator="ai.onnx:Neg", why="not in int32", certain=False, archs=(68, 79))
GELU = Expected(fusion="GeluFusion", by="plugin", qnn="Gelu", nodes=("a", "b"))


def test_nodes_and_fusions_are_told():
    one = Foreseen(graph="m/g", chips=("SM8750",), was="prepare", left=(NEG,), fusions=(GELU, GELU))

    assert list(lines(one)) == [
        "m/g: 1 node for the CPU; the prepared model",
        "  on the CPU  n (ai.onnx:Neg) (HTP v68, v79): not in int32",
        "  fused       2 × GeluFusion → Gelu",
    ]


def test_what_is_computed_wrongly_is_told_with_what_mends_it():
    wrong = Wrong(node="h", what="HardSigmoid times its input", mend="repairs: [hard-swish]")
    one = Foreseen(graph="m/g", chips=(), was="prepare", wrong=(wrong,))

    assert list(lines(one)) == [
        "m/g: all nodes can run on the NPU; the prepared model",
        "  wrong       h: HardSigmoid times its input, in float; repairs: [hard-swish]",
    ]
    assert as_data([one])[0]["wrong"] == [
        {
            "node": "h",
            "what": "HardSigmoid times its input",
            "mend": "repairs: [hard-swish]",
        }
    ]


def test_many_nodes_are_counted():
    one = Foreseen(graph="m/g", chips=(), was="source", left=(NEG,) * 12)

    assert list(lines(one))[-1] == "  and 4 more"


def test_a_graph_without_a_model_says_how_to_get_one():
    (told,) = lines(Foreseen(graph="m/g", chips=(), was=None))

    assert told == "m/g: no model at hand; doit 'prepare/m/g*' makes it"


def test_the_same_as_data():
    (row,) = as_data([Foreseen(graph="m/g", chips=("SM8750",), was="convert", left=(NEG,))])

    assert row == {
        "graph": "m/g",
        "chips": ["SM8750"],
        "model": "convert",
        "on_cpu": [
            {
                "node": "n",
                "operator": "ai.onnx:Neg",
                "why": "not in int32",
                "certain": False,
                "archs": [68, 79],
            }
        ],
        "fusions": [],
        "wrong": [],
    }
