"""context for a binary that was compiled elsewhere: held against the chip, and loaded here."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
from onnx import ModelProto

from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.work.context_facts import chip_facts, file_facts, maker_facts
from qnnbuild.work.made_elsewhere import read_compiled
from qnnbuild.work.made_files import COMPILED, MADE
from qnnbuild.work.node_prefix import prefix_nodes
from qnnbuild.work.ort_session import Wanted, create
from qnnbuild.work.read_back import Compiled, check_graphs, read_back
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.wrap import WRAPPER


def context(run: Run) -> None:
    """For each stem of params["graphs"] an input "model-<stem>" → "context", "facts".

    All of them are wrappers of one binary, which ships once, or in each with `embed`.
    """
    params, out = run.params, run.outputs["context"]
    stems = list(params["graphs"])
    binary = run.inputs[f"model-{stems[0]}"] / MADE[COMPILED]
    check_made_for(read_compiled(binary), params)
    shipped = f"{stems[0]}_qnn.bin"
    for stem in stems:
        model = onnx.load(str(run.inputs[f"model-{stem}"] / WRAPPER))
        cache = binary.read_bytes() if params["embed"] else shipped.encode()
        _point_to(model, cache, embedded=params["embed"])
        (out / f"{stem}_ctx.onnx").write_bytes(model.SerializeToString(deterministic=True))
        prefix_nodes(out / f"{stem}_ctx.onnx", params.get("node_name_prefix", ""))
    if not params["embed"]:
        shutil.move(binary, out / shipped)
    for stem in stems:
        compiled = read_back(out, f"{stem}_ctx.onnx")
        check_graphs(compiled)
        _load(run, compiled, stem)
        told = _facts(params, stem, compiled)
        text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True)
        (run.outputs["facts"] / f"{stem}.json").write_text(text + "\n", encoding="utf-8")


def check_made_for(binary: ContextFacts, params: Mapping[str, Any]) -> None:
    """The chip and its HTP are the target's; the VTCM may be less than it has."""
    wanted = {"soc_model": params["soc_model"], **params["reads_back"]}
    said = {name: getattr(binary, name) for name in wanted}
    wrong = [name for name in wanted if said[name] != wanted[name]]
    most = params["vtcm_mb"]
    facts = [(name, f"{said[name]}, {params['chip']} is {wanted[name]}") for name in wrong]
    if binary.vtcm_mb is not None and binary.vtcm_mb > most:
        facts.append(("vtcm_mb", f"{binary.vtcm_mb}, {params['chip']} has {most}"))
    if facts:
        raise WorkError(
            f"the binary is not for {params['chip']}",
            facts=[*facts, ("SDK", binary.sdk_build or "not said")],
            hint="name the chip that it was compiled for under chips:, "
            f"or give {params['chip']} a source of its own: only: {{{params['chip']}: …}}",
            exit_code=2,
        )


def _point_to(model: ModelProto, cache: bytes, *, embedded: bool) -> None:
    """`cache` is the binary itself, or the name of its file."""
    (node,) = [node for node in model.graph.node if node.op_type == "EPContext"]
    for attribute in node.attribute:
        if attribute.name == "ep_cache_context":
            attribute.s = cache
        elif attribute.name == "embed_mode":
            attribute.i = int(embedded)


def _load(run: Run, compiled: Compiled, stem: str) -> None:
    """On the host's emulator of the same chip; a graph that nothing runs here is taken unseen."""
    name = f"{stem}_ctx.onnx"
    if not run.params["graphs"][stem]["load"]:
        run.warn(f"{name} was not loaded: verify.chips is none", place=f"{stem}:graph")
        return
    alone = {} if compiled.ctx.other_nodes else {"session.disable_cpu_ep_fallback": "1"}
    options = {"backend_type": "htp", "soc_model": str(run.params["soc_model"])}
    folder = run.outputs["context"]
    outcome = create(
        Wanted(folder=folder, model=name, options=options, entries=alone), Path("load.log")
    )
    sys.stderr.write(outcome.log)
    if outcome.created:
        return
    said = outcome.crash or " ".join((outcome.error or "").split())[:300]
    inside = len(compiled.binary.graphs)
    raise WorkError(
        f"the emulator does not load the binary around '{compiled.ctx.nodes[0].partition}'",
        place=f"{stem}:graph",
        facts=[
            ("it says", said),
            ("graphs inside", str(inside)),
            ("made by", f"SDK {compiled.binary.sdk_build or 'unknown'}"),
        ],
        hint="the emulator dies of graphs that share weights: verify: {chips: none} takes the "
        "binary unseen"
        if inside > 1
        else "it is damaged, or of an SDK that the plugin's own does not read; "
        "verify: {chips: none} takes it unseen",
        exit_code=5,
    )


def _facts(params: Mapping[str, Any], stem: str, compiled: Compiled) -> dict[str, Any]:
    """As of what is compiled here, and what the CPU does at the borders."""
    binary, ctx = compiled.binary, compiled.ctx
    outer = [node for node in _nodes(compiled) if node["operator"] != "EPContext"]
    return {
        "graph": params["graphs"][stem]["graph"],
        "chip": chip_facts(binary),
        **maker_facts(binary),
        "settings": dict(binary.settings),
        "options": {},
        "embedded": bool(params["embed"]),
        "loaded": params["graphs"][stem]["load"],
        "nodes": 1 + len(outer),
        "cpu_nodes": outer,
        "cpu_share_of_multiply_adds": 0.0,
        **file_facts(ctx, compiled.files),
    }


def _nodes(compiled: Compiled) -> list[dict[str, str]]:
    model = onnx.load(str(compiled.files[0]))
    reason = "floats at the border, whole numbers in the binary"
    return [{"node": n.name, "operator": n.op_type, "reason": reason} for n in model.graph.node]
