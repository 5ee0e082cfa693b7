"""IR and opset versions against what onnx, ONNX Runtime and the plugin take."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterable, Iterator

import onnx
from onnx import ModelProto, NodeProto, defs, inliner
from onnxruntime.capi import onnxruntime_pybind11_state as runtime

from qnnbuild.work import cuts
from qnnbuild.work.run import WorkError
from qnnbuild.work.walk import STANDARD, domain_of, inner_graphs, label, nodes

OLDEST_OPSET = 7
"""ONNX Runtime promises nothing below; the plugin refuses opset 6's Add with broadcast=1."""

MOST_NODES = 1_000_000
MOST_CALLS = 100
"""Functions that call one another, one below the other."""

OLDEST_IR = 8
"""What we write at least: local functions and initializers that are no inputs need newer than 3."""


def opset_of(model: ModelProto) -> int:
    """The version of ONNX's own operators."""
    return next((o.version for o in model.opset_import if o.domain in STANDARD), 0)


def check_versions(model: ModelProto) -> None:
    """Say it when the file is older or newer than the tools can read."""
    newest_ir, newest_opset = int(onnx.IR_VERSION), defs.onnx_opset_version()
    if model.ir_version > newest_ir:
        raise WorkError(
            f"the model has IR {model.ir_version}, newest is {newest_ir}",
            facts=[
                ("made by", f"{model.producer_name} {model.producer_version}".strip() or "unknown")
            ],
            hint="export it with an older onnx package, or update onnx and onnxruntime here",
            exit_code=2,
        )
    opset = opset_of(model)
    if opset > newest_opset:
        raise WorkError(
            f"the model has opset {opset}, newest is {newest_opset}",
            hint=f"export it with opset_version={min(newest_opset, 21)}",
            exit_code=2,
        )
    if opset and opset < OLDEST_OPSET:
        raise WorkError(
            f"the model has opset {opset}, the oldest that works is {OLDEST_OPSET}",
            hint="export it again with a newer opset, or convert it once with "
            "onnx.version_converter.convert_version(model, 17)",
            exit_code=2,
        )


def raise_ir(model: ModelProto) -> None:
    """Write no older IR than the tools agree on; the graph means the same."""
    model.ir_version = max(model.ir_version, OLDEST_IR)


def complete_imports(model: ModelProto) -> None:
    """Import the domains that are used without a word: ONNX Runtime forgives it, onnx does not."""
    imported = {opset.domain for opset in model.opset_import} | set(STANDARD)
    for node in nodes(model):
        if node.domain not in imported:
            imported.add(node.domain)
            model.opset_import.add(domain=node.domain, version=1)


def inline_functions(model: ModelProto) -> tuple[ModelProto, list[str]]:
    """The model without local functions, and the names of those it had."""
    had = sorted({f"{function.domain}:{function.name}" for function in model.functions})
    if not had:
        return model, []
    count = _nodes_when_inlined(model)
    if count > MOST_NODES:
        raise WorkError(
            f"the model's functions unfold to {count:,} nodes",
            hint="no model has as many: export it without functions that call one another",
            exit_code=2,
        )
    flat = inliner.inline_local_functions(model)
    used = {node.domain for node in nodes(flat)} | set(STANDARD)
    kept = [opset for opset in flat.opset_import if opset.domain in used]
    del flat.opset_import[:]
    flat.opset_import.extend(kept)
    return flat, had


def _nodes_when_inlined(model: ModelProto) -> int:
    """How many nodes there are when each call of a function is what that function does.

    A WorkError for one that calls itself. What a few calls of calls unfold to may be more than
    any memory holds, so it is counted first.
    """
    functions = {(f.domain, f.name): f for f in model.functions}
    counts: dict[tuple[str, str], int] = {}

    def count(found: Iterable[NodeProto], above: tuple[tuple[str, str], ...]) -> int:
        return sum(of_call(node, above) for node in _all_nodes(found))

    def of_call(node: NodeProto, above: tuple[tuple[str, str], ...]) -> int:
        called = (node.domain, node.op_type)
        if called not in functions:
            return 1
        if called in above or len(above) > MOST_CALLS:
            raise WorkError(
                f"the model's function '{node.op_type}' calls itself",
                facts=[("by", " → ".join(name for _, name in above[-3:]) or "the graph")],
                hint="ONNX has no recursion: export the model again",
                exit_code=2,
            )
        if called not in counts:
            counts[called] = count(functions[called].node, (*above, called))
        return counts[called]

    return count(model.graph.node, ())


def _all_nodes(found: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in found:
        yield node
        for graph in inner_graphs(node):
            yield from _all_nodes(graph.node)


@functools.cache
def known_operators() -> frozenset[str]:
    """ "domain:Op" of every operator that this ONNX Runtime knows."""
    return frozenset(
        f"{'ai.onnx' if schema.domain in STANDARD else schema.domain}:{schema.name}"
        for schema in runtime.get_all_operator_schema()
    )


def check_known(model: ModelProto, own: Container[NodeProto] = ()) -> None:
    """Every operator is one that ONNX Runtime knows or the user's `own`; functions are inlined."""
    for node in nodes(model):
        domain = domain_of(node)
        if f"{domain}:{node.op_type}" in known_operators() or node in own:
            continue
        is_custom = domain != "ai.onnx"
        way_out = cuts.hint(cuts.outputs_before(model, [node.name]))
        raise WorkError(
            f"nobody knows the operator '{node.op_type}'"
            + (f" of domain '{domain}'" if is_custom else ""),
            facts=[("used by", label(node)), ("operator", f"{domain}, {node.op_type}")],
            hint=f"{way_out}; or export without it"
            f"{', or give its package (op_packages:)' if is_custom else ''}",
            exit_code=2,
        )
