"""Actions that take a source of a repo, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, Input, SourceFiles, SourceOnnx
from qnnbuild.actions.record import Tree
from qnnbuild.engine.inputs import Inputs
from qnnbuild.errors import RecipeError, Span

AT = Span(file="recipes/m.yaml", line=4, column=9)


def takes(source: Input) -> Action:
    return Action(
        name="fetch/m",
        step="fetch",
        call="x:y",
        inputs={"source": source},
        outputs=("model",),
        places={"source": AT},
    )


def onnx_at(path: str) -> Action:
    return takes(SourceOnnx(path=path))


def files(*patterns: str) -> Action:
    return takes(SourceFiles(patterns=patterns))


def tree(inputs: Inputs, action: Action) -> Tree:
    return inputs.tree(action, "source")


def staged(inputs: Inputs, action: Action, to: Path) -> dict[str, bytes]:
    to.mkdir()
    inputs.stage(action, "source", tree(inputs, action), to)
    return {p.relative_to(to).as_posix(): p.read_bytes() for p in to.rglob("*") if p.is_file()}


def refused(inputs: Inputs, action: Action) -> tuple[str, str | None]:
    with pytest.raises(RecipeError) as caught:
        tree(inputs, action)
    (problem,) = caught.value.problems
    assert problem.at == AT
    return problem.message, problem.hint
