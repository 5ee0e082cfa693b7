"""Masks of attention: values so low that a softmax makes 0 of them, and no scale should cover.

A range down to -3.4e38 has steps of 1e36, in which all scores are one value. For a softmax it is
the same whether a masked score is 1e38 or FAR below the others; so that is where the range ends.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from qnnbuild.work.walk import all_names, free_name, made_by

MASKED = -65504.0
"""Scores do not come down to this; masks that an exporter wrote do."""

FAR = 32.0
"""exp(-32) is 1e-14: nothing beside 1, in 16 bits too."""

PASSING = ("Add", "Sub", "Mul", "Div", "Where", "Reshape", "Transpose", "Expand", "Unsqueeze",
           "Squeeze", "Slice", "Identity", "Constant", "Max", "Min", "Clip")  # fmt: skip
SOFTMAXES = ("Softmax", "LogSoftmax")


def before_softmax(model: ModelProto) -> set[str]:
    """Tensors that come to a softmax by adding, moving and choosing only."""
    makers = made_by(model.graph)
    waiting = [node.input[0] for node in model.graph.node if node.op_type in SOFTMAXES]
    found: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        maker = makers.get(name)
        if maker is not None and maker.op_type in PASSING:
            waiting.extend(one for one in maker.input if one)
    return found


def watch_unmasked(model: ModelProto, names: list[str]) -> list[str]:
    """Add to `model`, for each tensor, an output: its least value that is no mask, or 0."""
    taken = all_names(model)
    limit, nothing = free_name("masked_below", taken), free_name("no_mask", taken)
    model.graph.initializer.extend(
        [
            helper.make_tensor(limit, TensorProto.FLOAT, [], [MASKED]),
            helper.make_tensor(nothing, TensorProto.FLOAT, [], [0.0]),
        ]
    )
    outputs: list[str] = []
    for name in names:
        low, kept, least = (free_name(f"{name}/{word}", taken) for word in ("low", "kept", "least"))
        nodes: list[NodeProto] = [
            helper.make_node("Less", [name, limit], [low], name=low),
            helper.make_node("Where", [low, nothing, name], [kept], name=kept),
            helper.make_node("ReduceMin", [kept], [least], name=least, keepdims=0),
        ]
        model.graph.node.extend(nodes)
        model.graph.output.append(helper.make_tensor_value_info(least, TensorProto.FLOAT, []))
        outputs.append(least)
    return outputs


def stored_masks(model: ModelProto) -> dict[str, list[dict[str, Any]]]:
    """The same for masks among the weights: what onnxruntime calls overrides."""
    before = before_softmax(model)
    found: dict[str, list[dict[str, Any]]] = {}
    for tensor in model.graph.initializer:
        if tensor.name not in before or tensor.data_type != TensorProto.FLOAT:
            continue
        array = numpy_helper.to_array(tensor)
        if array.size and array.min() < MASKED:
            scores = array[array >= MASKED]
            low = min(float(scores.min(initial=0.0)), 0.0) - FAR
            high = max(float(scores.max(initial=0.0)), 0.0)
            found[tensor.name] = [
                {"rmin": np.array(low, np.float32), "rmax": np.array(high, np.float32)}
            ]
    return found
