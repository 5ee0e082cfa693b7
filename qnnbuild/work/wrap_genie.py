"""wrap and context for a DLC that Genie runs: nothing is run here, since only Windows has Genie.

The node is what QNN's own exporters write (ep_context_type "dlc", source QAIRTExport), and what
the plugin's tests of its Genie path load. Genie looks for tmp*.json in the folder of the DLC.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import ModelProto, ValueInfoProto, helper

from qnnbuild.digest import digest_file
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.work.made_elsewhere import read_prepared
from qnnbuild.work.made_files import GENIE, MADE
from qnnbuild.work.node_prefix import prefix_nodes
from qnnbuild.work.run import Run, WorkError

WRAPPER = "model.onnx"
OPSET, IR = 21, 10
DEVICE_ONLY = "Genie runs on Windows on ARM64 alone"
OVERRIDES = "tmp"
"""How the name begins that Genie looks for."""

Described = Sequence[Mapping[str, Any]]


def wrap(run: Run) -> None:
    """Inputs "model" (a DLC) and "override" → outputs "model", "names", "report"."""
    out = run.outputs["model"]
    read_prepared(run.inputs["model"] / MADE[GENIE])
    (run.inputs["model"] / MADE[GENIE]).replace(out / MADE[GENIE])
    if "override" in run.inputs:
        override = _override(run.inputs["override"])
        override.replace(out / override.name)
    inputs, outputs = run.params["inputs"], run.params["outputs"]
    model = _wrapper(inputs, outputs)
    (out / WRAPPER).write_bytes(model.SerializeToString(deterministic=True))
    report = {
        "inputs": inputs,
        "outputs": outputs,
        "ir": IR,
        "opset": OPSET,
        "on_cpu": [],
        "comparison": {"why_not": DEVICE_ONLY},
    }
    _write_json(run.outputs["names"] / "names.json", {})
    _write_json(run.outputs["report"] / "report.json", report)


def context(run: Run) -> None:
    """Input "model-<stem>" of the one graph in params["graphs"] → outputs "context", "facts"."""
    (stem,) = run.params["graphs"]
    folder, out = run.inputs[f"model-{stem}"], run.outputs["context"]
    facts = read_prepared(folder / MADE[GENIE])
    _check_chip(facts, run.params)
    model = onnx.load(str(folder / WRAPPER))
    for attribute in model.graph.node[0].attribute:
        if attribute.name == "ep_dlc_context":
            attribute.s = f"{stem}.dlc".encode()
    (out / f"{stem}_ctx.onnx").write_bytes(model.SerializeToString(deterministic=True))
    prefix_nodes(out / f"{stem}_ctx.onnx", run.params.get("node_name_prefix", ""))
    (folder / MADE[GENIE]).replace(out / f"{stem}.dlc")
    for path in sorted(folder.glob("*.json")):
        begins = path.name.startswith(OVERRIDES)
        path.replace(out / (path.name if begins else f"{OVERRIDES}_{path.name}"))
    _write_json(run.outputs["facts"] / f"{stem}.json", _facts(run.params, stem, facts, out))


def _override(folder: Path) -> Path:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if len(files) != 1:
        raise WorkError(f"{len(files)} files match, one is wanted", place="genie.override")
    try:
        read = json.loads(files[0].read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise WorkError(
            f"'{files[0].name}' is no JSON: {error}", place="genie.override", exit_code=2
        ) from None
    if not isinstance(read, dict):
        raise WorkError(
            f"'{files[0].name}' holds no settings by name", place="genie.override", exit_code=2
        )
    return files[0]


def _wrapper(inputs: Described, outputs: Described) -> ModelProto:
    node = helper.make_node(
        "EPContext",
        [one["name"] for one in inputs],
        [one["name"] for one in outputs],
        name="ContextNode",
        domain="com.microsoft",
        ep_context_type="dlc",
        ep_dlc_context=MADE[GENIE],
        source="QAIRTExport",
    )
    opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
    graph = helper.make_graph([node], "genie", _values(inputs), _values(outputs))
    return helper.make_model(graph, opset_imports=opsets, ir_version=IR)


def _values(described: Described) -> list[ValueInfoProto]:
    return [
        helper.make_tensor_value_info(one["name"], _element(one), one["shape"]) for one in described
    ]


def _element(one: Mapping[str, Any]) -> int:
    return helper.np_dtype_to_tensor_dtype(np.dtype(one["dtype"]))


def _check_chip(facts: DlcFacts, params: Mapping[str, Any]) -> None:
    """A DLC may hold what was compiled for chips already; then this one is among them."""
    chips = {context.soc_model: context.soc_type for context in facts.contexts}
    if chips and params["soc_model"] not in chips:
        raise WorkError(
            f"the DLC is not for {params['chip']}",
            facts=[("compiled for", ", ".join(str(name) for name in chips.values()))],
            hint="name a chip that it was prepared for under chips:",
            exit_code=2,
        )


def _facts(params: Mapping[str, Any], stem: str, dlc: DlcFacts, out: Path) -> dict[str, Any]:
    builds = sorted({context.sdk_build for context in dlc.contexts if context.sdk_build})
    return {
        "graph": params["graphs"][stem]["graph"],
        "device_only": DEVICE_ONLY,
        "chip": {"soc_model": params["soc_model"], **params["reads_back"]},
        "sdk_build": builds[0] if builds else None,
        "converter": dlc.converter,
        "records": len(dlc.records),
        "options": {},
        "embedded": False,
        "nodes": 1,
        "cpu_nodes": [],
        "cpu_share_of_multiply_adds": 0.0,
        "files": {
            path.name: {"digest": digest_file(path), "size": path.stat().st_size}
            for path in sorted(out.iterdir())
        },
    }


def _write_json(path: Path, value: Mapping[str, Any]) -> None:
    text = json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
    path.write_text(text + "\n", encoding="utf-8")
