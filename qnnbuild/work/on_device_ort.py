"""context for a backend that starts on a device only: the ONNX file ships, and is compiled there.

The GPU's library wants an Adreno and its driver; here it ends with
QNN_BACKEND_ERROR_CANNOT_INITIALIZE. So nothing is compiled and nothing is run, and it is told.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import onnx
from onnx import ValueInfoProto

from qnnbuild.digest import digest_file
from qnnbuild.work.run import Run
from qnnbuild.work.walk import dtype_of, shape_of

MODEL = "model.onnx"


def on_device(run: Run) -> None:
    """Inputs "model" and "names" → outputs "context" and "facts"."""
    graph, source = run.params["graph"], run.inputs["model"]
    model = onnx.load(str(source / MODEL), load_external_data=False)
    files: dict[str, Any] = {}
    for path in sorted(p for p in source.rglob("*") if p.is_file()):
        name = path.relative_to(source).as_posix()
        target = run.outputs["context"] / (f"{graph}.onnx" if name == MODEL else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        path.rename(target)
        shipped = target.relative_to(run.outputs["context"]).as_posix()
        files[shipped] = {"digest": digest_file(target), "size": target.stat().st_size}
    facts = {
        "graph": graph,
        "backend": run.params["backend"],
        "device_only": f"the backend {run.params['backend']} starts on a device only, "
        "which compiles the graph for itself: not run here",
        "embedded": False,
        "ep_context_nodes": 0,
        "graphs_in_binary": [],
        "nodes": len(model.graph.node),
        "cpu_nodes": [],
        "inputs": _border(model.graph.input),
        "outputs": _border(model.graph.output),
        "files": files,
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True)
    told = Path(run.outputs["facts"]) / f"{graph}.json"
    told.write_text(text + "\n", encoding="utf-8")


def _border(values: Iterable[ValueInfoProto]) -> list[dict[str, Any]]:
    return [
        {"name": value.name, "dtype": dtype_of(value), "shape": list(shape_of(value) or ())}
        for value in values
    ]
