"""bundle of libraries: what runs on any chip, compiled by the device itself when it starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph, Target
from qnnbuild.model.sdks import is_sdk, published
from qnnbuild.steps.bundle import (
    BUNDLE,
    WRITERS,
    exported_files,
    exported_patterns,
    files_and_licence,
    named_places,
    recipe_folder,
    runtime_inputs,
    runtime_params,
    source_facts,
)
from qnnbuild.toolchains.qairt_extensions import device_part
from qnnbuild.toolchains.qairt_shipped import sdk_part

LIBRARIES = "libraries"
"""Stands in the place of a chip's name."""


@dataclass(frozen=True, kw_only=True)
class LibraryPart:
    """One graph, with the names of its actions; `systems` as the SDK calls them → library."""

    graph: Graph
    prepared: str
    source: str = ""  # the action that brought the ONNX file
    converted: str
    systems: Mapping[str, str]
    own_libraries: Mapping[str, OutputOf] = field(default_factory=dict)
    """Of the user's own operators, for a device: end of an input's name → who has them."""


def library_bundle(
    targets: Sequence[Target],
    parts: Sequence[LibraryPart],
    *,
    license_text: OutputOf | None,
    runs_with: Sequence[OutputOf] = (),
    behind: str = "",
) -> Action:
    """For `targets` of one variant, which differ in their chip only.

    `behind` tells folders apart where chips get different libraries.
    """
    first = targets[0]
    where = "/".join(p for p in (first.model, first.variant, f"{LIBRARIES}{behind}") if p)
    inputs: dict[str, Input] = {"provenance": Provenance()}
    for part in parts:
        inputs |= _inputs(part)
    files = [f for f in first.bundle.files if all(f in t.bundle.files for t in targets)]
    inputs |= files_and_licence(first, files, license_text)
    inputs |= exported_files(first, [(part.graph, part.source) for part in parts])
    inputs |= runtime_inputs(runs_with)
    return Action(
        name=f"bundle/{where}",
        step="bundle",
        call="qnnbuild.work.library_bundle:bundle",
        params=_params(first, parts, with_files=bool(files)),
        inputs=inputs,
        outputs=(BUNDLE,),
        tools=WRITERS,
        places=named_places(first),
        lands=where,
        group=first.model,
        about=f"{first.model} as libraries for any chip",
    )


def _inputs(part: LibraryPart) -> dict[str, Input]:
    stem = part.graph.name
    inputs: dict[str, Input] = {
        f"report-{stem}": OutputOf(action=part.prepared, output="report"),
    }
    for system, action in part.systems.items():
        inputs[f"library-{stem}-{published(system)}"] = OutputOf(action=action, output="library")
        inputs[f"facts-{stem}-{published(system)}"] = OutputOf(action=action, output="facts")
    inputs |= {f"packages-{stem}{end}": one for end, one in part.own_libraries.items()}
    if part.graph.quantization is not None:
        inputs[f"quantization-{stem}"] = OutputOf(action=part.converted, output="quantization")
    return inputs


def _params(first: Target, parts: Sequence[LibraryPart], *, with_files: bool) -> dict[str, Json]:
    return {
        "model": first.model,
        "variants": [{"name": first.variant, "axes": dict(first.axes)}],
        "description": first.description,
        "homepage": first.homepage,
        "license": {"spdx": first.license.spdx, "redistribute": first.license.redistribute},
        "chips": [],
        "toolchain": first.toolchain,
        "folder": recipe_folder(first.recipe) if with_files else "",
        **exported_patterns(first),
        **runtime_params(first),
        "graphs": {
            part.graph.name: {
                "graph": part.graph.name,
                "variant": first.variant,
                "precision": part.graph.precision,
                "source": source_facts(part.graph.source),
                "prepared": part.prepared,
                "libraries": {published(system): action for system, action in part.systems.items()},
                **(_of_sdk(part.graph, first.toolchain) if is_sdk(first.toolchain) else {}),
            }
            for part in parts
        },
    }


def _of_sdk(graph: Graph, toolchain: str) -> dict[str, Json]:
    return {"run": dict(device_part(graph)), "sdk": sdk_part(graph, toolchain)}
