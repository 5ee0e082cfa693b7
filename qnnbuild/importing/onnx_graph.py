"""What was seen in an ONNX file → the description of its graph, with a precision by chip. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.importing.described import PLACEHOLDER_SAMPLES, DescribedGraph, DescribedInput
from qnnbuild.importing.onnx_look import Input, Looked
from qnnbuild.importing.recipe_text import Remarked, Value
from qnnbuild.model.precisions import WORDS
from qnnbuild.model.recipe import Chip, FileSource, Graph
from qnnbuild.toolchains.ort_precisions import precision_problems

QUANTIZED = "w8a16"
FLOATS = ("fp16", "fp32")
NODES_TOLD = 3
SAMPLES_REMARK = (
    "Random numbers are run through it until real inputs are named: samples: samples/*.npz, "
    "an array for each input."
)


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """The precision of a graph, and chips that need another."""

    usual: str
    others: Mapping[str, str]  # chip → word


def described(looked: Looked, name: str, source: str, chips: Sequence[Chip]) -> DescribedGraph:
    """The graph as a recipe for these chips says it. `source` is relative to the recipe."""
    chosen = precision_for(looked, chips)
    graph = DescribedGraph(
        name=name,
        source={"file": source},
        inputs={one.name: _input(one) for one in looked.inputs},
        outputs=_outputs(looked),
        precision=_precision(looked, chosen),
        calibration=_calibration(chosen.usual),
        remark=SAMPLES_REMARK,
    )
    if looked.doubles:
        graph.cast = Remarked({"float64": "float32"}, "no NPU computes with doubles")
    if looked.left:
        graph.cpu_fallback = Remarked("allow", _left(looked))
    if repairs := [word for one in looked.wrong if (word := _repair(one.mend))]:
        what = f"{looked.wrong[0].node}: {looked.wrong[0].what} comes out wrong in float"
        graph.repairs = Remarked(list(dict.fromkeys(repairs)), what)
    for chip, word in chosen.others.items():
        calibration = _calibration(word)
        graph.only[chip] = {
            "precision": word,
            **({"calibration": {"random": 8}} if calibration else {}),
        }
    return graph


def precision_for(looked: Looked, chips: Sequence[Chip]) -> Chosen:
    """fp16 where the chip takes it, else what it takes; what is quantized stays as it is."""
    if looked.quantized:
        return Chosen(usual="qdq", others={})
    if looked.beyond_fp16:
        return Chosen(usual=QUANTIZED, others={})
    words = {chip.name: _word(chip) for chip in chips}
    usual = next((word for word in (*FLOATS, QUANTIZED) if word in words.values()), FLOATS[0])
    return Chosen(usual=usual, others={c: word for c, word in words.items() if word != usual})


def _word(chip: Chip) -> str:
    for word in FLOATS:
        graph = Graph(name="g", source=FileSource(file="g.onnx"), precision=word)
        if not list(precision_problems(graph, chip)):
            return word
    assert WORDS[QUANTIZED] is not None
    return QUANTIZED


def _input(one: Input) -> DescribedInput:
    said = DescribedInput()
    if one.settled is not None:
        shape = list(one.settled.shape)
        guessed = "; ".join(one.settled.guessed)
        said.shape = Remarked(shape, f"guessed: {guessed}") if guessed else shape
    if one.becomes:
        said.dtype = Remarked(one.becomes, f"the file has {one.dtype}; the NPU has no 64 bits")
    if one.rows:
        said.range = Remarked([0, one.rows - 1], "it chooses a row of a table")
    return said


def _outputs(looked: Looked) -> Value | None:
    """Only where the graph is cut or a type changes: then all have to be named."""
    if not any(becomes for _, becomes in looked.outputs):
        return list(looked.kept) or None
    return {name: {"dtype": becomes} if becomes else {} for name, becomes in looked.outputs}


def _precision(looked: Looked, chosen: Chosen) -> Value:
    if looked.quantized:
        return Remarked("qdq", "the file is quantized already")
    if looked.beyond_fp16:
        return Remarked(QUANTIZED, looked.beyond_fp16)
    return chosen.usual


def _calibration(word: str) -> Value | None:
    return Remarked({"random": 8}, PLACEHOLDER_SAMPLES) if word == QUANTIZED else None


def _left(looked: Looked) -> str:
    told = ", ".join(f"{one.node} ({_short(one.operator)})" for one in looked.left[:NODES_TOLD])
    more = f" and {len(looked.left) - NODES_TOLD} more" if len(looked.left) > NODES_TOLD else ""
    return f"on the CPU: {told}{more}; without this line that is an error"


def _short(operator: str) -> str:
    return operator.removeprefix("ai.onnx:")


def _repair(mend: str) -> str:
    """The name in "repairs: [name]"; "" where another export is wanted."""
    begin, _, rest = mend.partition("repairs: [")
    return "" if begin else rest.partition("]")[0]
