"""Many cases in one model: a session costs more than a tiny graph, and cases do not touch.

What a pack says of a case is believed for other chips only where it says the same as a compile of
the case alone on the chip that all cases are compiled for one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import onnx
from onnx import ModelProto, helper

from tools.atlas.compiling import Compiled, Compiler, Group
from tools.atlas.models import Case

LARGEST = 24


def packs(cases: Sequence[Case]) -> Iterator[list[Case]]:
    """Of cases with the same opsets, each pack at most LARGEST."""
    by_imports: dict[tuple[tuple[str, int], ...], list[Case]] = {}
    for case in cases:
        main = tuple((o.domain, o.version) for o in case.model.opset_import if not o.domain)
        by_imports.setdefault(main, []).append(case)
    for group in by_imports.values():
        for first in range(0, len(group), LARGEST):
            yield group[first : first + LARGEST]


def verdicts(compiler: Compiler, cases: Sequence[Case], soc_model: int) -> Iterator[Compiled]:
    """What came of each case, in order; a pack that fails is halved until its culprit is alone."""
    made = compiler.compile(packed(cases).SerializeToString(), soc_model)
    if made.on != "fails":
        yield from (_of_case(made, prefix(number)) for number in range(len(cases)))
    elif len(cases) == 1:
        yield made
    else:
        half = len(cases) // 2
        yield from verdicts(compiler, cases[:half], soc_model)
        yield from verdicts(compiler, cases[half:], soc_model)


def prefix(number: int) -> str:
    return f"c{number:02}_"


def packed(cases: Sequence[Case]) -> ModelProto:
    parts = [
        onnx.compose.add_prefix(case.model, prefix(number)) for number, case in enumerate(cases)
    ]
    graph = helper.make_graph([], "pack", [], [])
    imports: dict[str, int] = {}
    for part in parts:
        graph.node.extend(part.graph.node)
        graph.input.extend(part.graph.input)
        graph.output.extend(part.graph.output)
        graph.initializer.extend(part.graph.initializer)
        graph.value_info.extend(part.graph.value_info)
        imports |= {opset.domain: opset.version for opset in part.opset_import}
    opsets = [helper.make_opsetid(domain, version) for domain, version in imports.items()]
    return helper.make_model(graph, opset_imports=opsets, ir_version=parts[0].ir_version)


def _of_case(made: Compiled, mark: str) -> Compiled:
    """Nodes of a case begin with its mark; those that ONNX Runtime adds belong to nobody."""
    refused = _unmarked(made.refused, mark)
    left = [name for name in made.left if name.startswith(mark)]
    taken = any(name.startswith(mark) for group in made.groups for name in group.nodes)
    on = "cpu" if left or (refused and not taken) else "npu" if taken else "folded"
    groups = tuple(
        Group(
            kind=group.kind, qnn=group.qnn, nodes=tuple(n.removeprefix(mark) for n in group.nodes)
        )
        for group in made.groups
        if any(name.startswith(mark) for name in group.nodes)
    )
    return Compiled(on=on, refused=refused, groups=groups)


def _unmarked(refused: Mapping[str, str], mark: str) -> dict[str, str]:
    return {
        name.removeprefix(mark): why.replace(mark, "")
        for name, why in refused.items()
        if name.startswith(mark)
    }
