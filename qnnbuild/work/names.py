"""Order and names inside a graph: sorted nodes, one name a node, one maker a tensor."""

from __future__ import annotations

from collections import Counter

from onnx import GraphProto, ModelProto, NodeProto, ValueInfoProto

from qnnbuild.work import cuts
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.walk import dtype_of, free_name, graphs, label, reads_of, shape_of

GRAPH_NAME = "graph"

_NUMBERS = ("float16", "float32", "float64", "bfloat16", "bool", "int8", "uint8", "int16", "uint16",
            "int32", "uint32", "int64", "uint64", "unknown")  # fmt: skip
"""Element types of tensors at the borders; "unknown" is inferred later."""


def check_single_makers(model: ModelProto) -> None:
    """No tensor is made twice: what reads it would not know which one it gets."""
    for graph in graphs(model):
        makers: dict[str, str] = {value.name: "the graph's inputs" for value in graph.input}
        stored = Counter(tensor.name for tensor in graph.initializer)
        twice = next((name for name, times in stored.items() if times > 1), None)
        if twice is not None:
            raise WorkError(f"the weight '{twice}' is stored twice under one name")
        for node in graph.node:
            for name in filter(None, node.output):
                if name in makers or name in stored:
                    first = makers.get(name, "a stored weight")
                    raise WorkError(
                        f"tensor '{name}' is made twice",
                        facts=[("first by", first), ("again by", label(node))],
                        hint="export the model again: which of the two is meant cannot be known",
                    )
                makers[name] = label(node)


def check_borders(model: ModelProto) -> None:
    """The graph computes something, and nothing is listed twice at its borders."""
    graph = model.graph
    if not graph.node:
        raise WorkError(
            "the graph has no nodes",
            facts=[("inputs", ", ".join(value.name for value in graph.input) or "none")],
            hint="there is nothing to compile: is it the right file?",
            exit_code=2,
        )
    if not graph.output:
        raise WorkError("the graph has no outputs", place="outputs", hint="name one with outputs:")
    for kind, values in (("input", graph.input), ("output", graph.output)):
        for value in values:
            _check_type(kind, value)
        times = Counter(value.name for value in values)
        twice = next((name for name in times if times[name] > 1), None)
        if twice is not None:
            listed = cuts.line(dict.fromkeys(value.name for value in values))
            raise WorkError(
                f"{kind} '{twice}' is listed twice",
                place=f"{kind}s",
                hint=f"write {listed}" if kind == "output" else None,
            )


def _check_type(kind: str, value: ValueInfoProto) -> None:
    form = value.type.WhichOneof("value")
    dtype = dtype_of(value) if form == "tensor_type" else str(form).removesuffix("_type")
    if form is not None and dtype not in _NUMBERS:
        raise WorkError(
            f"{kind} '{value.name}' is {dtype}, which no NPU takes",
            place=f"{kind}s.{value.name}",
            facts=[("types that may cross the border", ", ".join(_NUMBERS))],
            hint="cut the graph before it with outputs:, or leave that part to the app"
            if kind == "output"
            else "leave what reads it to the app: export the model without that part",
            exit_code=2,
        )


def tell_case_twins(run: Run, model: ModelProto) -> None:
    """Warn of borders whose names differ only by case: some disks take them for one file."""
    for kind, values in (("inputs", model.graph.input), ("outputs", model.graph.output)):
        by_folded: dict[str, str] = {}
        for value in values:
            other = by_folded.setdefault(value.name.casefold(), value.name)
            if other != value.name:
                run.warn(
                    f"the {kind} {other}, {value.name} share a file name on some disks", place=kind
                )


def sort_nodes(model: ModelProto) -> bool:
    """Put every node after those it reads from; tells whether it had to move any."""
    moved = [_sort_graph(graph) for graph in graphs(model)]
    return any(moved)


def _sort_graph(graph: GraphProto) -> bool:
    makers = {name: index for index, node in enumerate(graph.node) for name in node.output if name}
    order: list[int] = []
    state = dict.fromkeys(range(len(graph.node)), "new")
    for start in range(len(graph.node)):
        waiting = [(start, False)]
        while waiting:
            index, needs_are_done = waiting.pop()
            if needs_are_done:
                state[index] = "done"
                order.append(index)
            elif state[index] == "new":
                state[index] = "open"
                waiting.append((index, True))
                needs = sorted({makers[n] for n in reads_of(graph.node[index]) if n in makers})
                for need in reversed(needs):
                    if state[need] == "open":
                        raise WorkError(f"the graph has a loop through {label(graph.node[need])}")
                    if state[need] == "new":
                        waiting.append((need, False))
    if order == sorted(order):
        return False
    nodes: list[NodeProto] = list(graph.node)
    copies = [NodeProto.FromString(nodes[index].SerializeToString()) for index in order]
    del graph.node[:]
    graph.node.extend(copies)
    return True


def name_nodes(model: ModelProto) -> dict[str, str]:
    """Give each node a name of its own, and the graph a name; the user's stay where they can.

    A node without a name gets its operator's and its first output's: stable when other nodes come
    or go. Returns the new name → the old one, "" where there was none.
    """
    if not model.graph.name:
        model.graph.name = GRAPH_NAME
    wanted = [node for graph in graphs(model) for node in graph.node]
    taken = {node.name for node in wanted if node.name}
    seen: set[str] = set()
    changed: dict[str, str] = {}
    for node in wanted:
        if node.name and node.name not in seen:
            seen.add(node.name)
            continue
        old = node.name
        first = next((name for name in node.output if name), "")
        node.name = free_name(old or f"{node.op_type}_{first}", taken)
        seen.add(node.name)
        changed[node.name] = old
    return changed


def drop_remarks(model: ModelProto) -> None:
    """Remove what says who made the file and when: it changes bytes and computes nothing."""
    for said in ("producer_name", "producer_version", "doc_string", "domain", "model_version"):
        model.ClearField(said)
    del model.metadata_props[:]
    for graph in graphs(model):
        values = [*graph.input, *graph.output, *graph.value_info]
        for part in (graph, *values, *graph.initializer, *graph.node):
            part.ClearField("doc_string")
            del part.metadata_props[:]
    inner = sorted(model.graph.value_info, key=lambda value: value.name)
    kept = [value for value in inner if shape_of(value) is not None]
    copies = [type(value).FromString(value.SerializeToString()) for value in kept]
    del model.graph.value_info[:]
    model.graph.value_info.extend(copies)
