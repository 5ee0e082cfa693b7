"""Inputs that choose rows of a table: random numbers beyond the table would stop a run. Pure."""

from __future__ import annotations

from onnx import ModelProto

from qnnbuild.work.walk import shape_of

_PASSING = ("Cast", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Flatten", "Transpose")
_MOST_NODES = 64


def rows_read(model: ModelProto, name: str) -> int | None:
    """Of how many rows the input chooses; the fewest where there are several tables."""
    sizes = {tensor.name: tuple(tensor.dims) for tensor in model.graph.initializer}
    sizes |= {  # big weights may be held outside as inputs
        value.name: tuple(int(size) for size in shape)
        for value in model.graph.input
        if (shape := shape_of(value)) and all(isinstance(size, int) for size in shape)
    }
    found: list[int] = []
    waiting, seen = [name], {name}
    while waiting and len(seen) < _MOST_NODES:
        tensor = waiting.pop()
        for node in model.graph.node:
            if node.op_type == "Gather" and list(node.input[1:2]) == [tensor]:
                axis = next((a.i for a in node.attribute if a.name == "axis"), 0)
                table = sizes.get(node.input[0], ())
                found += [table[axis]] if -len(table) <= axis < len(table) else []
            elif node.op_type in _PASSING and node.input[0] == tensor:
                new = [made for made in node.output if made not in seen]
                seen.update(new)
                waiting += new
    return min(found, default=None)
