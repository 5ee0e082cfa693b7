"""search and sensitivity: the tries of `precision: auto`, each an action, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace

from qnnbuild.actions.action import Action, Input, OutputOf
from qnnbuild.digest import Json
from qnnbuild.model.precisions import AUTO, WORDS, default_bars, tries
from qnnbuild.model.recipe import Bars, Chip, Graph, Quantization, Target
from qnnbuild.toolchains.work import Toolchain

CALLS = {"qnnbuild.work.quantize_ort:quantize": "qnnbuild.work.search:attempt"}
"""How a toolchain quantizes → what does this and judges."""

LIFTS = (1, 2, 4, 8, 16, 32, 64)
"""How many layers get 16 bits, try by try. A plan does not know how many a graph has: where it has
fewer, the tries that are left pass on."""

FLOAT = "float"
OUTPUTS = ("model", "quantization", "verdict")


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
    before: str | None,
    sensitive: str | None,
    chip: Chip,
    name: str,
) -> Action:
    """`before` is the try before it, `sensitive` the list of layers for those that lift.

    The emulator runs it as `chip`, which says how good the graph is on every other chip too.
    """
    inputs = _inputs(prepared, calibrated, before)
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
            "bars": _bars(graph),
            "quantization": None if one.quantization is None else dict(work.params),
            "emulator": _emulator(target, graph, toolchain, chip),
        },
        inputs=inputs,
        outputs=OUTPUTS,
        tools=tuple(dict.fromkeys((*work.tools, *toolchain.verify(graph, chip, graph.name).tools))),
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} as {one.label}",
    )


def _inputs(prepared: str, calibrated: str, before: str | None) -> dict[str, Input]:
    inputs: dict[str, Input] = {
        "model": OutputOf(action=prepared, output="model"),
        "names": OutputOf(action=prepared, output="names"),
        "feeds": OutputOf(action=calibrated, output="feeds"),
    }
    if before is not None:
        inputs |= {f"before-{out}": OutputOf(action=before, output=out) for out in OUTPUTS}
    return inputs


def sensitivity(
    target: Target,
    graph: Graph,
    *,
    prepared: str,
    calibrated: str,
    attempted: str,
    name: str,
) -> Action:
    """The layers of the try `attempted`, worst first; an empty list where it is good enough."""
    return Action(
        name=name,
        step="sensitivity",
        call="qnnbuild.work.sensitivity:sensitivity",
        inputs={
            "model": OutputOf(action=attempted, output="model"),
            "verdict": OutputOf(action=attempted, output="verdict"),
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


def taken(target: Target, graph: Graph, *, last: str, name: str) -> Action:
    """convert with `precision: auto`: what the last try has found."""
    return Action(
        name=name,
        step="convert",
        call="qnnbuild.work.search_taken:taken",
        inputs={out: OutputOf(action=last, output=out) for out in ("model", "quantization")},
        outputs=("model", "quantization"),
        deadline_s=graph.deadline_s,
        places=graph.places,
        group=target.model,
        about=f"{graph.name} as {graph.precision}",
    )


def _emulator(
    target: Target, graph: Graph, toolchain: Toolchain, chip: Chip
) -> dict[str, Json] | None:
    """None where the recipe wants nothing to be run on it."""
    if graph.verify.chips == ("none",):
        return None
    compiled = toolchain.context(graph, chip, target.context).params
    return {name: compiled[name] for name in ("soc_model", "options", "cpu_fallback")}


def _bars(graph: Graph) -> dict[str, Json]:
    """The recipe's; the usual one where it has only bars on metrics of its own."""
    own = graph.verify.bars
    bars = default_bars(AUTO) if own == Bars() else own
    return {name: value for name, value in asdict(bars).items() if value is not None}
