"""Workflows of GitHub → the shell scripts in their steps, with the lines where they begin. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from qnnbuild.errors import RecipeError
from qnnbuild.importing.holes import hole
from qnnbuild.text.nodes import ListNode, MappingNode, Node, ScalarNode
from qnnbuild.text.reader import read_nodes

_FILLED = re.compile(r"\$\{\{\s*([A-Za-z_][\w.-]*)\s*\}\}")
_OTHER = re.compile(r"\$\{\{.*?\}\}")
SHELLS = ("bash", "sh")


@dataclass(frozen=True, kw_only=True)
class Part:
    """The script of one step. Values are those of `env:`, axes those of a written matrix."""

    text: str
    first_line: int
    values: Mapping[str, str] = field(default_factory=dict)
    axes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def parts_of(text: str, file: str) -> list[Part]:
    """The steps that are shell scripts, in their order. Raises RecipeError for what is no YAML."""
    root, problems = read_nodes(file, text)
    if not isinstance(root, MappingNode):
        raise RecipeError.of(problems) if problems else RecipeError(f"{file} is no workflow")
    env = _texts(root.mapping("env"))
    listed = root.mapping("jobs")
    found: list[Part] = []
    for entry in listed.entries.values() if listed else ():
        if isinstance(entry.value, MappingNode):
            found += _steps(entry.value, env)
    steps = root.mapping("runs")  # an action of one's own
    return found + (list(_steps(steps, env)) if steps else [])


def _steps(node: MappingNode, env: Mapping[str, str]) -> Iterator[Part]:
    strategy = node.mapping("strategy")
    matrix = strategy.mapping("matrix") if strategy else None
    axes = dict(_axes(matrix))
    env = {**env, **_texts(node.mapping("env"))}
    steps = node.get("steps")
    for step in steps.items if isinstance(steps, ListNode) else ():
        if not isinstance(step, MappingNode):
            continue
        run, shell = step.get("run"), step.get("shell")
        said = shell.value.split()[:1] if isinstance(shell, ScalarNode) else []
        is_shell = not said or said[0] in SHELLS
        if isinstance(run, ScalarNode) and is_shell:
            block = "\n" in run.value
            yield Part(
                text=_as_shell(run.value),
                first_line=run.span.line + (1 if block else 0),
                values={**env, **_texts(step.mapping("env"))},
                axes=axes,
            )


def _axes(matrix: MappingNode | None) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, entry in matrix.entries.items() if matrix else ():
        if isinstance(entry.value, ListNode) and name not in ("include", "exclude"):
            items = [item.value for item in entry.value.items if isinstance(item, ScalarNode)]
            if items and len(items) == len(entry.value.items):
                yield variable(f"matrix.{name}"), tuple(items)


def _texts(mapping: MappingNode | None) -> dict[str, str]:
    return {
        name: _FILLED.sub(lambda found: hole(variable(found[1])), entry.value.value)
        for name, entry in (mapping.entries.items() if mapping else ())
        if isinstance(entry.value, ScalarNode)
    }


def _as_shell(text: str) -> str:
    """GitHub fills ${{ … }} before a shell reads it; here it is a variable like others."""
    filled = _FILLED.sub(lambda found: "${" + variable(found[1]) + "}", text)
    return _OTHER.sub("${expression}", filled)


def variable(name: str) -> str:
    """matrix.num_seconds → num_seconds: as good a name for an axis."""
    last = name.rpartition(".")[2]
    return re.sub(r"\W", "_", last)


def is_workflow(node: Node | None) -> bool:
    return isinstance(node, MappingNode) and ("jobs" in node or "runs" in node)
