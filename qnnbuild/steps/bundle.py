"""bundle: what a user downloads for one model, variant and chip."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import urlsplit, urlunsplit

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance, SourceFiles
from qnnbuild.digest import Json
from qnnbuild.errors import Span
from qnnbuild.model.recipe import (
    Chip,
    ExportSource,
    FileSource,
    Graph,
    HubSource,
    PypiSource,
    Source,
    Target,
    UrlSource,
)
from qnnbuild.toolchains import ortqnn
from qnnbuild.toolchains.ort_run import run_part

BUNDLE = "bundle"


@dataclass(frozen=True, kw_only=True)
class Part:
    """One graph of the bundle, with the names of the actions that prepared and compiled it."""

    graph: Graph
    prepared: str
    compiled: str
    converted: str = ""
    verdict: str | None = None  # the action that judged the binary of `run_on`
    traced: str | None = None  # the op trace, where nodes may run on the CPU
    run_on: str | None = None  # the chip whose binary was run: this one, or one of its generation


def bundle(
    target: Target, parts: Sequence[Part], *, license_text: OutputOf | None, name: str
) -> Action:
    """`license_text` is the output with LICENSE.txt, for a licence that came with the source."""
    inputs: dict[str, Input] = {"provenance": Provenance()}
    for part in parts:
        graph = part.graph.name
        inputs[f"context-{graph}"] = OutputOf(action=part.compiled, output="context")
        inputs[f"facts-{graph}"] = OutputOf(action=part.compiled, output="facts")
        inputs[f"report-{graph}"] = OutputOf(action=part.prepared, output="report")
        if part.verdict is not None:
            inputs[f"verdict-{graph}"] = OutputOf(action=part.verdict, output="verdict")
        if part.traced is not None:
            inputs[f"trace-{graph}"] = OutputOf(action=part.traced, output="dump")
        if part.graph.quantization is not None or part.graph.auto_from:
            inputs[f"quantization-{graph}"] = OutputOf(action=part.converted, output="quantization")
    if license_text is not None:
        inputs["license"] = license_text
    elif target.license.file is not None:
        inputs["license"] = SourceFiles(patterns=(target.license.file,))
    if target.bundle.files:
        inputs["files"] = SourceFiles(patterns=target.bundle.files)
    return Action(
        name=name,
        step="bundle",
        call="qnnbuild.work.bundle:bundle",
        params=_params(target, parts),
        inputs=inputs,
        outputs=(BUNDLE,),
        places=_places(target),
        lands=lands(target),
        group=target.model,
        about=f"{target.model} for {target.chip.name}",
    )


def _places(target: Target) -> dict[str, Span]:
    """Inputs are called after what names them."""
    named = {"files": "bundle.files", "license": "license.file"}
    own = {name: target.places[at] for name, at in named.items() if at in target.places}
    return {**target.places, **own}


def lands(target: Target) -> str:
    """The bundle's folder below build/."""
    return "/".join(part for part in (target.model, target.variant, target.chip.name) if part)


def _params(target: Target, parts: Sequence[Part]) -> dict[str, Json]:
    return {
        "model": target.model,
        "variant": target.variant,
        "axes": dict(target.axes),
        "description": target.description,
        "homepage": target.homepage,
        "license": {"spdx": target.license.spdx, "redistribute": target.license.redistribute},
        "chip": _chip(target.chip),
        "toolchain": target.toolchain,
        "folder": _folder(target.recipe) if target.bundle.files else "",
        "graphs": {part.graph.name: _graph(part, target.toolchain) for part in parts},
    }


def _chip(chip: Chip) -> dict[str, Json]:
    return {
        "name": chip.name,
        "marketing": list(chip.marketing),
        "soc_model": chip.soc_model,
        "arch": chip.arch,
        "vtcm_mb": chip.vtcm_mb,
        "fp16": chip.fp16,
    }


def _folder(recipe: str) -> str:
    folder = PurePosixPath(recipe).parent.as_posix()
    return "" if folder == "." else folder


def _graph(part: Part, toolchain: str) -> dict[str, Json]:
    run_time = ortqnn.run_time_options(part.graph) if toolchain == ortqnn.NAME else {}
    return {
        "precision": part.graph.precision,
        "source": source_facts(part.graph.source),
        "run": run_part(part.graph, run_time),
        "ranges": _ranges(part.graph),
        "prepared": part.prepared,
        "compiled": part.compiled,
        "run_on": part.run_on,
    }


def _ranges(graph: Graph) -> dict[str, Json]:
    """What random inputs are taken from, as verify takes them."""
    return {name: list(spec.range) for name, spec in graph.inputs.items() if spec.range}


def source_facts(source: Source) -> Mapping[str, Json]:
    """Where a model is from, for whoever has the bundle: nothing of this machine, no login."""
    match source:
        case FileSource():
            return {"file": source.file}
        case UrlSource():
            return {
                "url": _public(source.url),
                "sha256": source.sha256,
                **({"member": source.member} if source.member else {}),
            }
        case PypiSource():
            return {"pypi": source.pypi, "member": source.member, "sha256": source.sha256}
        case HubSource():
            return {
                "hub": source.hub,
                "revision": source.revision,
                "member": source.member,
                "sha256": source.sha256,
            }
        case ExportSource():
            return {"export": list(source.run), "makes": source.makes}


def _public(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme == "file":
        return f"file:{PurePosixPath(parts.path).name}"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
