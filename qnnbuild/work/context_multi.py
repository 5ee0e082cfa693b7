"""context for several chips: one compile, one file, each chip's record read back.

The plugin takes any list of chips: the same one twice, an unknown separator (it then compiles for
the first and says nothing), and it writes the time of day into the file. The host's emulator loads
no such file, so what runs instead is each chip's single binary; facts have their sizes in "shared".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.multi_chip import ChipRecord, MultiChip, dates, read_multi_chip
from qnnbuild.work.context_facts import chip_facts, cpu_facts, file_facts, maker_facts, write_facts
from qnnbuild.work.context_ort import compile_now, compile_wanted
from qnnbuild.work.own_libraries import put_libraries
from qnnbuild.work.read_back import check_border_of, not_good
from qnnbuild.work.run import Run


@dataclass(frozen=True, kw_only=True)
class Made:
    """The two files of one compile, as read."""

    ctx: CtxOnnxFacts
    binary: MultiChip
    files: tuple[Path, ...]


def context(run: Run) -> None:
    """Inputs "model", "names" and, for each chip, "facts-<chip>" of its single binary.

    Outputs "context" and "facts" as for one chip. In the params `chips` are in the order in which
    the plugin is asked for them: [{"name", "soc_model", "reads_back"}].
    """
    folder, params = run.inputs["model"], run.params
    name = f"{params['graph']}_ctx.onnx"
    put_libraries(run, folder)
    wanted = compile_wanted(folder, {**params, "soc_model": _listed(params)}, name)
    story, prepared = compile_now(run, wanted, name)
    made = _read_back(folder, name)
    on_cpu = story.on_cpu(made.ctx, folder / name)
    _check_chips(made.binary, params["chips"])
    _check_graphs(made)
    check_border_of(made.ctx, prepared)
    facts = {
        **_facts(params, made),
        "nodes": len(story.names),
        "cpu_nodes": cpu_facts(on_cpu),
        "cpu_share_of_multiply_adds": story.cpu_share,
        "shared": _saving(run, made),
    }
    write_facts(run, params["graph"], facts)
    for path in made.files:
        path.rename(run.outputs["context"] / path.name)


def _listed(params: Mapping[str, Any]) -> str:
    return ",".join(str(chip["soc_model"]) for chip in params["chips"])


def _read_back(folder: Path, name: str) -> Made:
    """Both files, whole and belonging together; the times in the binary are taken out."""
    ctx_path = folder / name
    if not ctx_path.is_file():
        raise not_good("the compiler ended well and wrote no ctx.onnx")
    try:
        ctx = read_any(ctx_path)
        if not isinstance(ctx, CtxOnnxFacts):
            raise not_good("nothing was compiled: the ctx.onnx has no EPContext node")
        main = next((node for node in ctx.nodes if node.main), None)
        if main is None or not main.multi_chip:
            raise not_good("the ctx.onnx names no binary for several chips")
        if main.file is None:
            return Made(ctx=ctx, binary=_embedded(ctx_path), files=(ctx_path,))
        path = folder / main.file
        if Path(main.file).name != main.file or not path.is_file():
            raise not_good(f"the ctx.onnx names '{main.file}', which is not beside it")
        binary = _without_dates(path, 0, path.stat().st_size)
    except FormatError as error:
        raise not_good(f"what was compiled is not whole: {error}") from None
    return Made(ctx=ctx, binary=binary, files=(ctx_path, path))


def _embedded(ctx_path: Path) -> MultiChip:
    """The binary in the ctx.onnx itself."""
    model = onnx.load(str(ctx_path), load_external_data=False)
    held = [
        attribute.s
        for node in model.graph.node
        for attribute in node.attribute
        if attribute.name == "ep_cache_context" and attribute.s
    ]
    if len(held) != 1:
        raise not_good(f"{len(held)} binaries are in the ctx.onnx; one was asked for")
    at = ctx_path.read_bytes().find(held[0])
    assert at >= 0
    return _without_dates(ctx_path, at, len(held[0]))


def _without_dates(path: Path, start: int, size: int) -> MultiChip:
    """The binary that begins there in the file, after the times in it were made equal."""
    data = path.read_bytes()[start : start + size]
    places = list(dates(memoryview(data)))
    with path.open("r+b") as file:
        for at, text in places:
            file.seek(start + at)
            file.write(text)
    return read_multi_chip(memoryview(path.read_bytes())[start : start + size])


def _check_chips(binary: MultiChip, wanted: Sequence[Mapping[str, Any]]) -> None:
    """A record for each chip, once, in the order asked for, and each names its HTP and VTCM."""
    asked = [chip["soc_model"] for chip in wanted]
    found = [chip.soc_model for chip in binary.chips]
    if asked != found:
        raise not_good(
            "the binary is for other chips than those asked for",
            facts=[("soc_models", f"{found}, asked for {asked}")],
        )
    for chip, record in zip(wanted, binary.chips, strict=True):
        expected: Mapping[str, Any] = chip["reads_back"]
        said = {name: getattr(record.context, name) for name in expected}
        wrong = [name for name in expected if said[name] != expected[name]]
        if wrong:
            raise not_good(
                f"the record for {chip['name']} is for another chip",
                facts=[(name, f"{said[name]}, asked for {expected[name]}") for name in wrong],
            )


def _check_graphs(made: Made) -> None:
    """Every EPContext node finds its graph in each chip's record, made by the same SDK."""
    for record in made.binary.chips:
        inside = {graph.name for graph in record.context.graphs}
        for node in made.ctx.nodes:
            if node.partition not in inside:
                raise not_good(f"the graph '{node.partition}' is not in '{record.name}'")
            if node.sdk_build is not None and node.sdk_build != record.context.sdk_build:
                raise not_good(
                    "ctx.onnx and binary are from different SDKs",
                    facts=[("ctx.onnx", node.sdk_build), (record.name, _sdk(record))],
                )


def _sdk(record: ChipRecord) -> str:
    return str(record.context.sdk_build)


def _facts(params: Mapping[str, Any], made: Made) -> dict[str, Any]:
    return {
        "graph": params["graph"],
        "chips": [
            {**_chip(record), "name": chip["name"]}
            for chip, record in zip(params["chips"], made.binary.chips, strict=True)
        ],
        "shared_weights": sum(made.binary.shared.values()),
        **maker_facts(made.binary.chips[0].context),
        "options": dict(params["options"]),
        "embedded": bool(params["embed"]),
        **file_facts(made.ctx, made.files),
    }


def _chip(record: ChipRecord) -> dict[str, Any]:
    return {
        "record": record.name,
        "bytes": record.context.size,
        "own_weights": record.own_weights,
        **chip_facts(record.context),
        "settings": dict(record.context.settings),
    }


def _saving(run: Run, made: Made) -> dict[str, Any]:
    """What the same graph takes as one binary for each chip, and what is saved by this one."""
    alone: dict[str, int] = {}
    for chip in run.params["chips"]:
        folder = run.inputs[f"facts-{chip['name']}"]
        text = (folder / f"{run.params['graph']}.json").read_text(encoding="utf-8")
        files = json.loads(text)["files"]
        alone[chip["name"]] = sum(file["size"] for file in files.values())
    ours = sum(path.stat().st_size for path in made.files)
    _tell_what_is_saved(run, made, alone, ours)
    return {
        "with": list(alone),
        "binary": made.files[-1].name,
        "bytes": ours,
        "alone_bytes": alone,
        "saved_bytes": sum(alone.values()) - ours,
    }


def _tell_what_is_saved(run: Run, made: Made, alone: Mapping[str, int], ours: int) -> None:
    """A chip whose weights are laid out otherwise has them all to itself."""
    shared = sum(made.binary.shared.values())
    lonely = [
        chip["name"]
        for chip, record in zip(run.params["chips"], made.binary.chips, strict=True)
        if record.own_weights > shared / 2
    ]
    if lonely:
        run.warn(
            f"{', '.join(lonely)} shares hardly any weights with the other chips",
            place="context.multi_soc",
        )
    if ours >= sum(alone.values()):
        run.warn(
            f"one binary for {len(alone)} chips takes {ours:,} bytes, single ones "
            f"{sum(alone.values()):,}",
            place="context.multi_soc",
        )
