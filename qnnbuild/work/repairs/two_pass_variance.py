"""A variance as mean(x²) − mean(x)²: fp16 loses it, since both are big and their difference small.

mean(x²) − mean(x)²  =  mean((x − mean(x))²)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto, NodeProto, helper

from qnnbuild.work.repairs.editing import Repair, View, attribute, numbers
from qnnbuild.work.versions import opset_of
from qnnbuild.work.walk import shape_of


@dataclass(frozen=True, kw_only=True)
class _Mean:
    """The mean of `of` over `axes`."""

    of: str
    axes: tuple[int, ...]
    keepdims: int


def apply(model: ModelProto) -> list[str]:
    changed: list[str] = []
    for name in [node.name for node in model.graph.node if node.op_type == "Sub"]:
        view = View.of(model)
        node = next(n for n in model.graph.node if n.name == name)
        mean = _variance(model, view, node)
        if mean is not None:
            changed.append(name)
            view.replace(node, _in_two_passes(view, node, mean, opset_of(model)))
    return changed


def _variance(model: ModelProto, view: View, node: NodeProto) -> _Mean | None:
    """The mean of x, when `node` is mean(x²) − mean(x)²."""
    squared_mean = _square_of(view, node.input[1])
    mean = _mean(model, view, squared_mean) if squared_mean is not None else None
    mean_of_squares = _mean(model, view, node.input[0])
    x = _square_of(view, mean_of_squares.of) if mean_of_squares is not None else None
    if mean is None or mean_of_squares is None or x != mean.of:
        return None
    same = (mean.axes, mean.keepdims) == (mean_of_squares.axes, mean_of_squares.keepdims)
    return mean if same else None


def _square_of(view: View, name: str) -> str | None:
    """x, where `name` is x²."""
    node = view.maker(name, "Mul", "Pow")
    if node is None:
        return None
    if node.op_type == "Mul":
        return str(node.input[0]) if node.input[0] == node.input[1] else None
    return str(node.input[0]) if view.number(node.input[1]) == 2 else None


def _mean(model: ModelProto, view: View, name: str) -> _Mean | None:
    """What `name` is the mean of: a ReduceMean, or a ReduceSum by the number of its elements."""
    node = view.maker(name, "ReduceMean")
    if node is not None:
        return _reduced(model, view, node)
    scaled = view.maker(name, "Mul", "Div")
    if scaled is None:
        return None
    for total, factor in ((0, 1), (1, 0)):
        summed = view.maker(scaled.input[total], "ReduceSum")
        number = view.number(scaled.input[factor])
        if summed is None or not number or (scaled.op_type == "Div" and factor == 0):
            continue
        mean = _reduced(model, view, summed)
        count = number if scaled.op_type == "Div" else 1 / number
        sizes = _sizes(model, mean.of) if mean is not None else None
        if mean is None or sizes is None:
            continue
        if math.isclose(count, math.prod(sizes[axis] for axis in mean.axes), rel_tol=1e-4):
            return mean
    return None


def _reduced(model: ModelProto, view: View, node: NodeProto) -> _Mean | None:
    sizes = _sizes(model, node.input[0])
    if sizes is None:
        return None
    given = numbers(node, "axes")
    if len(node.input) > 1 and node.input[1]:
        stored = view.constant(node.input[1])
        if stored is None:
            return None
        given = [int(axis) for axis in stored.ravel()]
    axes = tuple(sorted(axis % len(sizes) for axis in given)) or tuple(range(len(sizes)))
    return _Mean(of=node.input[0], axes=axes, keepdims=attribute(node, "keepdims", 1))


def _sizes(model: ModelProto, name: str) -> list[int] | None:
    for value in [*model.graph.value_info, *model.graph.input]:
        shape = shape_of(value)
        if value.name == name and shape is not None:
            sizes = [size for size in shape if isinstance(size, int)]
            return sizes if len(sizes) == len(shape) else None
    return None


def _in_two_passes(view: View, node: NodeProto, mean: _Mean, opset: int) -> list[NodeProto]:
    out = node.output[0]
    middle, off, squared = (view.free(f"{out}_{part}") for part in ("mean", "off", "squared"))

    def reduced(x: str, made: str, name: str, keepdims: int) -> NodeProto:
        if opset < 18:  # from 18 on the axes are an input
            axes = list(mean.axes)
            return helper.make_node(
                "ReduceMean", [x], [made], name=name, axes=axes, keepdims=keepdims
            )
        stored = view.store(f"{made}_axes", np.asarray(mean.axes, np.int64))
        return helper.make_node("ReduceMean", [x, stored], [made], name=name, keepdims=keepdims)

    return [
        reduced(mean.of, middle, f"{node.name}_mean", 1),
        helper.make_node("Sub", [mean.of, middle], [off], name=f"{node.name}_off"),
        helper.make_node("Mul", [off, off], [squared], name=f"{node.name}_squared"),
        reduced(squared, out, node.name, mean.keepdims),
    ]


REPAIR = Repair(name="two-pass-variance", apply=apply)
