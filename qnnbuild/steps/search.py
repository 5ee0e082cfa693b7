"""search, emulate, judge, sensitivity: the tries of `precision: auto`, one after the other.

Only judge knows the bar. It decides whether the emulator runs a try, and whether the next try has
work to do; that decision, and neither the bar nor the numbers, is in their keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from qnnbuild.actions.action import Action, Input, OutputOf
from qnnbuild.digest import Json
from qnnbuild.model.precisions import AUTO, WORDS, default_bars, tries
from qnnbuild.model.recipe import Bars, Chip, Graph, Quantization, Target
from qnnbuild.steps.verify import bars_of
from qnnbuild.toolchains.work import Toolchain

CALLS = {"qnnbuild.work.quantize_ort:quantize": "qnnbuild.work.search:attempt"}
"""How a toolchain quantizes → what does this and measures."""

EMULATED = {"qnnbuild.work.verify_ort:verify": "qnnbuild.work.search_emulated:emulated"}
"""How a toolchain runs a binary → what runs a try in the same way."""

LIFTS = (1, 2, 4, 8, 16, 32, 64)
"""How many layers get 16 bits, try by try. A plan does not know how many a graph has: where it has
fewer, the tries that are left pass on."""

FLOAT = "float"
OUTPUTS = ("model", "quantization", "numbers")


@dataclass(frozen=True, kw_only=True)
class Try:
    """One form of the graph; `quantization` is None for the float model."""

    word: str
    quantization: Quantization | None
    lifts: int = 0

    @property
    def label(self) -> str:
        """As it stands in the action's name."""
        return f"{self.word}-lift-{self.lifts}" if self.lifts else self.word


def tries_of(graph: Graph) -> Iterator[Try]:
    """8-bit activations, their worst layers lifted, then 16-bit activations, at last floats."""
    wanted = list(tries(graph))
    narrow = [(word, meant) for word, meant in wanted if meant.activations == 8]
    others = [(word, meant) for word, meant in wanted if meant.activations != 8]
    for word, meant in narrow:
        yield Try(word=word, quantization=meant)
    if narrow:
        word, meant = narrow[-1]
        for lifts in LIFTS:
            yield Try(word=word, quantization=meant, lifts=lifts)
        if not any(other.activations == 16 for _, other in others):
            wide = f"w{meant.weights}a16"
            others.insert(0, (wide, replace(meant, activations=16)))
    for word, meant in others:
        yield Try(word=word, quantization=meant)
    yield Try(word=FLOAT, quantization=None)


def attempt(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    one: Try,
    *,
    prepared: str,
    calibrated: str,
    shown: str,
    decided: str | None,
    sensitive: str | None,
    name: str,
) -> Action:
    """`shown` has the samples that the verdict is about, `decided` judged the try before it.

    `sensitive` has the list of layers for those that lift. What comes out of a try that is
    not needed is the same for all of them.
    """
    inputs = _inputs(prepared, calibrated, shown)
    if decided is not None:
        inputs["decision"] = OutputOf(action=decided, output="decision")
    if one.lifts and sensitive is not None:
        inputs["sensitivity"] = OutputOf(action=sensitive, output="sensitivity")
    # what quantizes is the toolchain's to say, also where this try leaves the graph float
    meant = one.quantization or WORDS["w8a8"]
    work = toolchain.convert(replace(graph, precision="w8a8", quantization=meant, auto_from=()))
    return Action(
        name=name,
        step="search",
        call=CALLS[work.call or ""],
        params={
            "word": one.word,
            "lifts": one.lifts,
            "quantization": None if one.quantization is None else dict(work.params),
        },
        inputs=inputs,
        outputs=OUTPUTS,
        tools=work.tools,
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} as {one.label}",
    )


def _inputs(prepared: str, calibrated: str, shown: str) -> dict[str, Input]:
    return {
        "model": OutputOf(action=prepared, output="model"),
        "names": OutputOf(action=prepared, output="names"),
        "feeds": OutputOf(action=calibrated, output="feeds"),
        "samples": OutputOf(action=shown, output="feeds"),
    }


def promising(target: Target, graph: Graph, one: Try, *, attempted: str, name: str) -> Action:
    """Whether the emulator, which takes many times as long as the CPU, shall run the try."""
    return Action(
        name=name,
        step="judge",
        call="qnnbuild.work.search_judged:promising",
        params={"bars": _bars(graph)},
        inputs={"numbers": OutputOf(action=attempted, output="numbers")},
        outputs=("decision",),
        places=graph.places,
        group=target.model,
        about=f"is {graph.name} as {one.label} good on the CPU",
    )


def emulate(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    one: Try,
    *,
    prepared: str,
    shown: str,
    attempted: str,
    decided: str,
    chip: Chip,
    name: str,
) -> Action:
    """As `chip`, which says how good the graph is on every other chip too."""
    work = toolchain.verify(graph, chip, graph.name)
    compiled = toolchain.context(graph, chip, target.context).params
    return Action(
        name=name,
        step="emulate",
        call=EMULATED[work.call or ""],
        params={n: compiled[n] for n in ("soc_model", "options", "cpu_fallback")},
        inputs={
            "model": OutputOf(action=prepared, output="model"),
            "samples": OutputOf(action=shown, output="feeds"),
            "attempt": OutputOf(action=attempted, output="model"),
            "decision": OutputOf(action=decided, output="decision"),
        },
        outputs=("numbers",),
        tools=tuple(dict.fromkeys((*work.tools, "package:onnx"))),
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"run {graph.name} as {one.label} as {chip.name}",
    )


def judge(
    target: Target,
    graph: Graph,
    one: Try,
    *,
    attempted: str,
    emulated: str | None,
    decided: str | None,
    name: str,
) -> Action:
    """Whether the try holds the bars; `emulated` is None where the CPU alone decides."""
    inputs: dict[str, Input] = {"numbers": OutputOf(action=attempted, output="numbers")}
    if emulated is not None:
        inputs["emulated"] = OutputOf(action=emulated, output="numbers")
    if decided is not None:
        inputs["before"] = OutputOf(action=decided, output="decision")
    return Action(
        name=name,
        step="judge",
        call="qnnbuild.work.search_judged:judge",
        params={"bars": _bars(graph)},
        inputs=inputs,
        outputs=("verdict", "decision"),
        places=graph.places,
        group=target.model,
        about=f"is {graph.name} good enough as {one.label}",
    )


def sensitivity(
    target: Target,
    graph: Graph,
    *,
    prepared: str,
    calibrated: str,
    attempted: str,
    decided: str,
    name: str,
) -> Action:
    """The layers of the try `attempted`, worst first; an empty list where it is good enough."""
    return Action(
        name=name,
        step="sensitivity",
        call="qnnbuild.work.sensitivity:sensitivity",
        params={"excused": [n for n, of in graph.verify.outputs.items() if of.excused is not None]},
        inputs={
            "model": OutputOf(action=attempted, output="model"),
            "decision": OutputOf(action=decided, output="decision"),
            "names": OutputOf(action=prepared, output="names"),
            "feeds": OutputOf(action=calibrated, output="feeds"),
        },
        outputs=("sensitivity",),
        tools=("package:onnx", "package:onnxruntime", "package:numpy"),
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"what each layer of {graph.name} costs in 8 bits",
    )


def taken(
    target: Target,
    graph: Graph,
    *,
    attempted: Sequence[str],
    judged: Sequence[str],
    name: str,
) -> Action:
    """convert with `precision: auto`: the first of the tries `attempted` that holds the bars.

    `judged` are their judges in the same order; the last try is float and has none.
    """
    inputs: dict[str, Input] = {}
    for number, tried in enumerate(attempted):
        for output in ("model", "quantization"):
            inputs[f"{output}-{number:02}"] = OutputOf(action=tried, output=output)
    for number, decided in enumerate(judged):
        inputs[f"verdict-{number:02}"] = OutputOf(action=decided, output="verdict")
    inputs[f"numbers-{len(judged):02}"] = OutputOf(action=attempted[-1], output="numbers")
    return Action(
        name=name,
        step="convert",
        call="qnnbuild.work.search_taken:taken",
        inputs=inputs,
        outputs=("model", "quantization"),
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} as {graph.precision}",
    )


def _bars(graph: Graph) -> dict[str, Json]:
    """The recipe's; the usual one where it has only bars on metrics of its own."""
    own = graph.verify
    return bars_of(replace(own, bars=default_bars(AUTO)) if own.bars == Bars() else own)
