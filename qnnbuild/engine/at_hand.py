"""The ONNX model of a graph where it is at hand: nothing is fetched, made or run for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from qnnbuild.actions.action import Action, SourceOnnx
from qnnbuild.actions.record import Tree
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.state import Current
from qnnbuild.errors import QnnbuildError

MODEL = "model.onnx"


@dataclass(frozen=True, kw_only=True)
class AtHand:
    """`was` is the step whose result it is: what is nearest to the compiler is taken."""

    path: Path
    was: str


def at_hand(builder: Builder, root: Path, actions: Sequence[Action]) -> AtHand | None:
    """The first model among the outputs of `actions`, or a source file of one of them."""
    for action in actions:
        found = _made(builder, action) or _source(root, action)
        if found is not None:
            return found
    return None


def _made(builder: Builder, action: Action) -> AtHand | None:
    try:
        state = builder.state(action.name)
    except QnnbuildError:  # a file that is not there: the build will tell it
        return None
    if not isinstance(state, Current):
        return None
    for tree in state.record.outputs.values():
        path = _model_in(builder, tree)
        if path is not None:
            return AtHand(path=path, was=action.step)
    return None


def _model_in(builder: Builder, tree: Tree) -> Path | None:
    found = tree.files.get(MODEL)
    if found is None or not builder.store.whole(*found):  # it may be in a remote cache only
        return None
    return builder.store.path(found[0])


def _source(root: Path, action: Action) -> AtHand | None:
    for source in action.inputs.values():
        if isinstance(source, SourceOnnx) and (root / source.path).is_file():
            return AtHand(path=root / source.path, was="source")
    return None
