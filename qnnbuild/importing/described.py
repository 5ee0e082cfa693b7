"""A model as something else described it: what readers find and one writer turns into a recipe."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.importing.recipe_text import Remarked, Value, recipe_text

SCHEMA = "../schema/recipe.schema.json"
PLACEHOLDER_SAMPLES = (
    "a placeholder: random numbers. Real inputs: calibration: calib/*.npz, an array for each input"
)
UNKNOWN_LICENSE = "LicenseRef-unknown"
LICENSE_REMARK = "write the SPDX name of the weights' licence; until then nothing is published"


@dataclass(kw_only=True)
class DescribedInput:
    """What is said of an input. Values may be remarked."""

    shape: Value | None = None
    dtype: Value | None = None
    layout: Value | None = None
    range: Value | None = None

    def said(self) -> dict[str, Value]:
        parts = {
            "shape": self.shape,
            "dtype": self.dtype,
            "layout": self.layout,
            "range": self.range,
        }
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(kw_only=True)
class DescribedGraph:
    """One ONNX network. What is empty or None is left to the ONNX file."""

    name: str
    source: Value | None = None  # None: the model's
    inputs: dict[str, DescribedInput] = field(default_factory=dict)
    outputs: Value | None = None
    constants: dict[str, Value] = field(default_factory=dict)
    cast: Value | None = None
    repairs: Value | None = None
    precision: Value | None = None
    calibration: Value | None = None
    cpu_fallback: Value | None = None
    options: dict[str, Value] = field(default_factory=dict)
    run: dict[str, Value] = field(default_factory=dict)
    leave_out: Value | None = None
    only: dict[str, Value] = field(default_factory=dict)
    remark: str = ""

    def said(self) -> dict[str, Value]:
        inputs: dict[str, Value] = {
            name: said for name, one in self.inputs.items() if (said := one.said())
        }
        parts: dict[str, Value | None] = {
            "source": self.source,
            "inputs": inputs or None,
            "outputs": self.outputs,
            "constants": self.constants or None,
            "cast": self.cast,
            "repairs": self.repairs,
            "precision": self.precision,
            "calibration": self.calibration,
            "cpu_fallback": self.cpu_fallback,
            "options": self.options or None,
            "run": self.run or None,
            "leave_out": self.leave_out,
            "only": self.only or None,
        }
        return {key: value for key, value in parts.items() if value is not None}


@dataclass(kw_only=True)
class DescribedModel:
    """A recipe in the making."""

    name: str
    chips: Value
    graphs: Sequence[DescribedGraph]
    license: Value = field(
        default_factory=lambda: Remarked(
            {"spdx": UNKNOWN_LICENSE, "redistribute": False}, LICENSE_REMARK
        )
    )
    toolchain: str | None = None
    variants: Mapping[str, Sequence[str]] = field(default_factory=dict)
    source: Value | None = None
    context: dict[str, Value] = field(default_factory=dict)
    bundle: dict[str, Value] = field(default_factory=dict)
    head: str = ""

    def text(self, schema: str = SCHEMA) -> str:
        """The recipe."""
        parts: dict[str, Value | None] = {
            "model": self.name,
            "license": self.license,
            "toolchain": self.toolchain,
            "chips": self.chips,
            "variants": {k: list(v) for k, v in self.variants.items()} or None,
            "source": self.source,
            "graphs": {graph.name: _graph(graph) for graph in self.graphs},
            "context": self.context or None,
            "bundle": self.bundle or None,
        }
        top = {key: value for key, value in parts.items() if value is not None}
        return recipe_text(top, schema=schema, head=self.head)


def _graph(graph: DescribedGraph) -> Value:
    said = graph.said()
    return Remarked(said, graph.remark) if graph.remark else said


def safe_name(text: str, otherwise: str = "model") -> str:
    """A name that files and folders can carry on every disk, in small letters."""
    name = re.sub(r"[^a-z0-9._-]+", "-", text.lower())
    name = re.sub(r"\.{2,}", ".", re.sub(r"-{2,}", "-", name)).strip("-._")
    return name[:100] or otherwise


def plain_name(text: str, otherwise: str = "graph") -> str:
    """A graph's name of which the SDK's tools make nothing else: letters, digits, single - or _."""
    name = re.sub(r"[-_]{2,}", "_", re.sub(r"[^a-z0-9_-]+", "_", text.lower())).strip("_-")
    return name if name[:1].isalpha() else f"{otherwise}_{name}".strip("_")


def braces_doubled(path: str) -> str:
    """A path as a recipe writes it: a brace of its own is no placeholder."""
    return path.replace("{", "{{").replace("}", "}}")
