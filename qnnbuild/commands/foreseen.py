"""What `check --operators` tells of each graph: nodes for the CPU, and fusions.

Nothing is fetched or made for it. The model that is nearest to the compiler counts: converted,
prepared, fetched, or a file of the repo; a graph of which none is at hand is told as such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.digest import Json
from qnnbuild.engine.at_hand import AtHand, at_hand
from qnnbuild.errors import RecipeError
from qnnbuild.session import Session, open_builder
from qnnbuild.steps.wrap import is_wrapped
from qnnbuild.work.operators import Left
from qnnbuild.work.plugin_fusions import Expected
from qnnbuild.work.wrong_numbers import Wrong

SHOWN = 8
STEPS = ("convert", "prepare", "fetch", "export")
WAS = {
    "convert": "the model that is compiled",
    "prepare": "the prepared model",
    "fetch": "the model as it was fetched: prepare comes first and does away with some",
    "export": "the model as it was exported: prepare comes first and does away with some",
    "source": "the file of the repo, not prepared",
}


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    """One graph on the chips that get the same model."""

    graph: str  # the name of what is compiled, without its chip
    chips: tuple[str, ...]
    was: str | None  # whose model it was; None: there is none
    left: tuple[Left, ...] = ()
    fusions: tuple[Expected, ...] = ()
    wrong: tuple[Wrong, ...] = ()


def foreseen(session: Session) -> Iterator[Foreseen]:
    archs = {chip.name: chip.arch for chip in session.chips}
    with open_builder(session, only_look=True) as builder:
        for graph, actions in sorted(_compiled(session).items()):
            chain = _chain(session, actions[0])
            chips = tuple(name.rpartition("@")[2] for name in actions)
            wanted = sorted({archs[name] for name in chips if name in archs})
            found = at_hand(builder, session.root, chain)
            one = _look(graph, chips, found, wanted, _floats_as(chain, found))
            own = str(session.plan[actions[0]].params.get("op_packages", ""))
            yield replace(one, left=tuple(_without_own(one.left, own)))


def at_hand_by_graph(session: Session) -> Iterator[tuple[str, AtHand | None]]:
    """Graph, and the model of it."""
    with open_builder(session, only_look=True) as builder:
        for graph, actions in sorted(_compiled(session).items()):
            yield graph, at_hand(builder, session.root, _chain(session, actions[0]))


def _floats_as(chain: Sequence[Action], found: AtHand | None) -> str:
    """What floats of the model will be when it is compiled: a8 and a16 where it is quantized."""
    bits = next((a.params["activations"] for a in chain if "activations" in a.params), None)
    later = found is not None and found.was != "convert" and bits is not None
    return f"a{bits}" if later else "f32"


def _without_own(left: Sequence[Left], packages: str) -> Iterator[Left]:
    """Nodes that packages of the user's own are for are taken."""
    own = {entry.partition(":")[0] for entry in packages.split(",")}
    return (node for node in left if node.operator.rpartition(":")[2] not in own)


def _compiled(session: Session) -> dict[str, list[str]]:
    """ "silero-vad/vad" → the actions that compile it, one a chip."""
    found: dict[str, list[str]] = {}
    for action in session.plan:
        # with a backend there is no NPU in it, and what was made elsewhere shows no nodes
        elsewhere = is_wrapped(session.plan, action)
        if action.step == "context" and "backend" not in action.params and not elsewhere:
            found.setdefault(action.name.partition("/")[2].rpartition("@")[0], []).append(
                action.name
            )
    return found


def _chain(session: Session, name: str) -> list[Action]:
    """What makes the model, the last step first."""
    chain: list[Action] = []
    waiting = [name]
    while waiting:
        action = session.plan[waiting.pop(0)]
        needed = [i.action for i in action.inputs.values() if isinstance(i, OutputOf)]
        models = [n for n in needed if session.plan[n].step in STEPS]
        waiting += [n for n in models if n not in {one.name for one in chain}]
        chain += [action] if action.step in STEPS else []
    return sorted(chain, key=lambda action: STEPS.index(action.step))


def _look(
    graph: str,
    chips: tuple[str, ...],
    found: AtHand | None,
    archs: Sequence[int],
    floats_as: str,
) -> Foreseen:
    if found is None:
        return Foreseen(graph=graph, chips=chips, was=None)
    import onnx

    from qnnbuild.work.names import name_nodes
    from qnnbuild.work.operators import left_to_cpu
    from qnnbuild.work.plugin_fusions import expected_fusions
    from qnnbuild.work.wrong_numbers import wrong_numbers

    _check_parts(found.path)
    model = onnx.load(str(found.path), load_external_data=False)
    name_nodes(model)
    model = onnx.shape_inference.infer_shapes(model)
    return Foreseen(
        graph=graph,
        chips=chips,
        was=found.was,
        left=tuple(left_to_cpu(model, archs, floats_as=floats_as)),
        fusions=tuple(expected_fusions(model)),
        wrong=tuple(wrong_numbers(model)) if floats_as == "f32" else (),
    )


def _check_parts(path: Path) -> None:
    from qnnbuild.work.onnx_parts import check_parts
    from qnnbuild.work.run import WorkError

    try:
        check_parts(path)
    except WorkError as error:
        raise RecipeError(error.message, hint=error.hint) from None


def lines(one: Foreseen) -> Iterator[str]:
    """The answer as text."""
    if one.was is None:
        yield f"{one.graph}: no model at hand; doit 'prepare/{one.graph}*' makes it"
        return
    told = "all nodes can run on the NPU" if not one.left else _count(one.left)
    yield f"{one.graph}: {told}; {WAS[one.was]}"
    for node in one.left[:SHOWN]:
        where = f" (HTP {', '.join(f'v{arch}' for arch in node.archs)})" if node.archs else ""
        yield f"  on the CPU  {node.node} ({node.operator}){where}: {node.why}"
    if len(one.left) > SHOWN:
        yield f"  and {len(one.left) - SHOWN} more"
    for pattern in one.wrong[:SHOWN]:
        yield f"  wrong       {pattern.node}: {pattern.what}, in float; {pattern.mend}"
    kinds: dict[tuple[str, str], int] = {}
    for fusion in one.fusions:
        kinds[fusion.fusion, fusion.qnn] = kinds.get((fusion.fusion, fusion.qnn), 0) + 1
    for (name, qnn), count in sorted(kinds.items()):
        yield f"  fused       {count} × {name} → {qnn}"


def _count(left: Sequence[Left]) -> str:
    return f"{len(left)} node{'' if len(left) == 1 else 's'} for the CPU"


def as_data(found: Sequence[Foreseen]) -> list[Mapping[str, Json]]:
    return [
        {
            "graph": one.graph,
            "chips": list(one.chips),
            "model": one.was,
            "on_cpu": [{**asdict(node), "archs": list(node.archs)} for node in one.left],
            "fusions": [{**asdict(f), "nodes": list(f.nodes)} for f in one.fusions],
            "wrong": [asdict(pattern) for pattern in one.wrong],
        }
        for one in found
    ]
