"""bundle: what a user downloads: one folder for a model, variant and chip, or for several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from qnnbuild.model.sdks import is_sdk, published
from qnnbuild.steps.export import ALSO, has_more
from qnnbuild.steps.lora import adapter_files, adapters, usual_adapter
from qnnbuild.toolchains import ortqnn
from qnnbuild.toolchains.ort_run import run_part
from qnnbuild.toolchains.qairt_extensions import device_part
from qnnbuild.toolchains.qairt_shipped import sdk_part

BUNDLE = "bundle"
WRITERS = (
    "package:cyclonedx-python-lib",
    "package:in-toto-attestation",
    "package:packageurl-python",
    "package:protobuf",
    "package:py-serializable",
)
"""What writes the bill of materials and the statement: their bytes may be others with another."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """One graph of one variant, with the names of the actions that prepared and compiled it."""

    graph: Graph
    variant: str = ""
    stem: str  # of its files in what `compiled` makes: other parts may have the same binary
    prepared: str
    source: str = ""  # the action that brought the ONNX file
    compiled: str
    converted: str = ""
    verdict: str | None = None  # the action that judged the binary of `run_on`
    traced: str | None = None  # the op trace, where nodes may run on the CPU
    own_libraries: Mapping[str, OutputOf] = field(default_factory=dict)
    """Of the user's own operators, for a device: end of an input's name → who has them."""
    run_on: str | None = None  # the chip whose binary was run: this one, or one of its generation
    run_alone: bool = False  # it was run as compiled alone, since no host runs what ships
    singles: Mapping[str, str] = field(default_factory=dict)
    """For a binary of several chips: chip → the action that judged its single binary."""


def bundle(
    targets: Sequence[Target],
    parts: Sequence[Part],
    *,
    license_text: OutputOf | None,
    runs_with: Sequence[OutputOf] = (),
    chips: str = "",
) -> Action:
    """For `targets`, which differ in variant or chip. Stems are unique among `parts`.

    `chips` is the name of several chips that have one binary, in the place of a chip's.

    `license_text` is the output with LICENSE.txt, for a licence that came with the source,
    `runs_with` has libraries of the SDK.
    """
    first, where = targets[0], lands(targets, chips)
    inputs: dict[str, Input] = {"provenance": Provenance()}
    contexts = _contexts(parts)
    for part in parts:
        inputs |= _inputs(part, is_first=contexts[part.compiled] == part.stem)
    files = tuple(dict.fromkeys(file for t in targets for file in t.bundle.files))
    inputs |= files_and_licence(first, files, license_text)
    inputs |= exported_files(first, [(part.graph, part.source) for part in parts])
    inputs |= runtime_inputs(runs_with)
    folder, _, last = where.rpartition("/")
    return Action(
        name=f"bundle/{folder}@{last}",
        step="bundle",
        call="qnnbuild.work.bundle:bundle",
        params=_params(targets, parts),
        inputs=inputs,
        outputs=(BUNDLE,),
        tools=WRITERS,
        places=_places(first, parts),
        lands=where,
        group=first.model,
        about=f"{first.model} for {', '.join(chip.name for chip in _chips(targets))}",
    )


def lands(targets: Sequence[Target], chips: str = "") -> str:
    """The bundle's folder below build/: of several variants that of none."""
    variants = {target.variant for target in targets}
    variant = variants.pop() if len(variants) == 1 else ""
    chips = chips or "+".join(chip.name for chip in _chips(targets))
    return "/".join(part for part in (targets[0].model, variant, chips) if part)


def files_and_licence(
    target: Target, files: Sequence[str], license_text: OutputOf | None
) -> dict[str, Input]:
    inputs: dict[str, Input] = {}
    if license_text is not None:
        inputs["license"] = license_text
    elif target.license.file is not None:
        inputs["license"] = SourceFiles(patterns=(target.license.file,))
    if files:
        inputs["files"] = SourceFiles(patterns=tuple(files))
    return inputs


def exported_patterns(target: Target) -> Mapping[str, Json]:
    """In the values of a bundle only where there are some."""
    return {"exported": list(target.bundle.exported)} if target.bundle.exported else {}


def exported_files(target: Target, sources: Sequence[tuple[Graph, str]]) -> Mapping[str, OutputOf]:
    """What the exports of graphs have for the bundle; `sources` are graphs and their actions."""
    if not target.bundle.exported:
        return {}
    names = dict.fromkeys(name for graph, name in sources if has_more(graph.source))
    return {
        f"exported-{number}": OutputOf(action=name, output=ALSO)
        for number, name in enumerate(names)
    }


def runtime_inputs(runs_with: Sequence[OutputOf]) -> dict[str, Input]:
    return {f"runtime-{number}": made for number, made in enumerate(runs_with)}


def runtime_params(target: Target) -> dict[str, Json]:
    """The systems whose libraries of the SDK go along, as users know them."""
    systems: list[Json] = [published(system) for system in target.bundle.sdk_libraries]
    return {"sdk_libraries": systems} if systems else {}


def named_places(target: Target) -> dict[str, Span]:
    """Inputs are called after what names them."""
    named = {"files": "bundle.files", "license": "license.file"}
    own = {name: target.places[at] for name, at in named.items() if at in target.places}
    return {**target.places, **own}


def _places(target: Target, parts: Sequence[Part]) -> dict[str, Span]:
    told = [(part.stem, part.graph.places) for part in parts]
    lora = {f"lora-{stem}": places["lora"] for stem, places in told if "lora" in places}
    return {**named_places(target), **lora}


def _contexts(parts: Sequence[Part]) -> dict[str, str]:
    """The actions that compiled `parts` → the stem of the first part that each made."""
    found: dict[str, str] = {}
    for part in parts:
        found.setdefault(part.compiled, part.stem)
    return found


def _inputs(part: Part, *, is_first: bool) -> dict[str, Input]:
    """A context that several parts have is taken with the first of them."""
    inputs: dict[str, Input] = {}
    if is_first:
        inputs[f"context-{part.stem}"] = OutputOf(action=part.compiled, output="context")
        inputs[f"facts-{part.stem}"] = OutputOf(action=part.compiled, output="facts")
    inputs[f"report-{part.stem}"] = OutputOf(action=part.prepared, output="report")
    if part.verdict is not None:
        inputs[f"verdict-{part.stem}"] = OutputOf(action=part.verdict, output="verdict")
    inputs |= {f"packages-{part.stem}{end}": one for end, one in part.own_libraries.items()}
    for chip, verdict in part.singles.items():
        inputs[f"verdict-{part.stem}-{chip}"] = OutputOf(action=verdict, output="verdict")
    if part.traced is not None:
        inputs[f"trace-{part.stem}"] = OutputOf(action=part.traced, output="dump")
    if (lora := adapter_files(part.graph)) is not None:
        inputs[f"lora-{part.stem}"] = lora
    if part.graph.quantization is not None or part.graph.auto_from:
        inputs[f"quantization-{part.stem}"] = OutputOf(action=part.converted, output="quantization")
    return inputs


def _chips(targets: Sequence[Target]) -> tuple[Chip, ...]:
    return tuple({target.chip.name: target.chip for target in targets}.values())


def _params(targets: Sequence[Target], parts: Sequence[Part]) -> dict[str, Json]:
    first = targets[0]
    variants = {target.variant: target.axes for target in targets}
    contexts = _contexts(parts)
    return {
        "model": first.model,
        "variants": [{"name": name, "axes": dict(axes)} for name, axes in variants.items()],
        "description": "\n\n".join(dict.fromkeys(t.description for t in targets)),
        "homepage": first.homepage,
        "license": {"spdx": first.license.spdx, "redistribute": first.license.redistribute},
        "chips": [_chip(chip) for chip in _chips(targets)],
        "toolchain": first.toolchain,
        "folder": recipe_folder(first.recipe) if any(t.bundle.files for t in targets) else "",
        **exported_patterns(first),
        **runtime_params(first),
        "graphs": {
            part.stem: {**_graph(part, first.toolchain), "context": contexts[part.compiled]}
            for part in parts
        },
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


def recipe_folder(recipe: str) -> str:
    folder = PurePosixPath(recipe).parent.as_posix()
    return "" if folder == "." else folder


def _graph(part: Part, toolchain: str) -> dict[str, Json]:
    run_time = ortqnn.run_time_options(part.graph) if toolchain == ortqnn.NAME else {}
    run = run_part(part.graph, run_time, dict(usual_adapter(part.graph, part.stem)))
    if is_sdk(toolchain):
        run = dict(device_part(part.graph))
    return {
        "graph": part.graph.name,
        "variant": part.variant,
        "precision": part.graph.precision,
        "source": source_facts(part.graph.source),
        "run": run,
        **({"sdk": sdk_part(part.graph, toolchain)} if is_sdk(toolchain) else {}),
        **adapters(part.graph, part.stem),
        "ranges": _ranges(part.graph),
        "prepared": part.prepared,
        "compiled": part.compiled,
        "run_on": part.run_on,
        "run_alone": part.run_alone,
        **({"singles": list(part.singles)} if part.singles else {}),
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
