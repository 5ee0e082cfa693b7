"""What is told of a context: the same of one that is compiled here and of one that is brought."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.work.ort_log import Refused
from qnnbuild.work.read_back import border_as_json
from qnnbuild.work.run import Run


def chip_facts(binary: ContextFacts) -> dict[str, Any]:
    """For which chip it is, as it says."""
    return {
        "soc_model": binary.soc_model,
        "soc_type": binary.soc_type,
        "arch": binary.arch,
        "vtcm_mb": binary.vtcm_mb,
        "hvx_threads": binary.hvx_threads,
    }


def maker_facts(binary: ContextFacts) -> dict[str, Any]:
    """What made it, and what is in it."""
    return {
        "sdk_build": binary.sdk_build,
        "core_api": binary.core_api,
        "backend_api": binary.backend_api,
        "blob_version": binary.blob_version,
        "graphs_in_binary": [graph.name for graph in binary.graphs],
    }


def file_facts(ctx: CtxOnnxFacts, files: Sequence[Path]) -> dict[str, Any]:
    """What the ctx.onnx takes and gives, and the digests of all."""
    return {
        "ep_context_nodes": len(ctx.nodes),
        "inputs": border_as_json(ctx.onnx.inputs),
        "outputs": border_as_json(ctx.onnx.outputs),
        "files": {
            path.name: {"digest": digest_file(path), "size": path.stat().st_size} for path in files
        },
    }


def cpu_facts(on_cpu: Iterable[Refused]) -> list[dict[str, Any]]:
    return [{"node": one.name, "operator": one.operator, "reason": one.reason} for one in on_cpu]


def write_facts(run: Run, stem: str, facts: Mapping[str, Any]) -> None:
    text = json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["facts"] / f"{stem}.json").write_text(text + "\n", encoding="utf-8")
