"""Recurrent operators that spell out their defaults: the plugin refuses the attribute as such."""

from __future__ import annotations

from onnx import ModelProto

from qnnbuild.work.repairs.editing import Repair
from qnnbuild.work.walk import nodes

_DEFAULTS = {"LSTM": ("sigmoid", "tanh", "tanh"), "GRU": ("sigmoid", "tanh"), "RNN": ("tanh",)}


def apply(model: ModelProto) -> list[str]:
    changed: list[str] = []
    for node in nodes(model):
        defaults = _DEFAULTS.get(node.op_type)
        if defaults is None:
            continue
        for index in reversed(range(len(node.attribute))):
            given = node.attribute[index]
            if given.name != "activations" or not given.strings:
                continue
            said = tuple(text.decode().lower() for text in given.strings)
            if said == defaults * (len(said) // len(defaults)):
                del node.attribute[index]
                changed.append(node.name)
    return changed


REPAIR = Repair(name="default-activations", apply=apply)
