"""Compiles cases with the real plugin, each in a child of one warm parent, and reads the traces."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto

from qnnbuild.work.ort_log import refused_nodes
from tools.atlas.models import Array

PROVIDER = "QNNExecutionProvider"
TRACE = "qnn_op_trace.json"
LONGEST_S = 120
OPTIONS = {"offload_graph_io_quantization": "0"}
"""Without it the first and last quantizers stay on the CPU, unless the CPU may take nothing."""
ENTRIES = {
    "ep.context_enable": "1",
    "ep.context_file_path": "m_ctx.onnx",
    "ep.context_embed_mode": "0",
}


@dataclass(frozen=True, kw_only=True)
class Group:
    """Nodes that became QNN operators together."""

    kind: str  # OrtNodeUnit, or the plugin's name of a fusion
    nodes: tuple[str, ...]
    qnn: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Compiled:
    """What came of one compile; `on` is npu, cpu (some nodes), fails, folded (no node is left)."""

    on: str
    refused: Mapping[str, str] = field(default_factory=dict)  # node → why
    groups: tuple[Group, ...] = ()
    left: tuple[str, ...] = ()  # nodes of the ctx.onnx that are not compiled
    error: str = ""
    answers: Sequence[Array] | None = None  # of the emulator


class Compiler:
    def __init__(self) -> None:
        import onnxruntime as ort
        import onnxruntime_qnn as qnn

        ort.register_execution_provider_library(PROVIDER, qnn.get_library_path())
        self._devices = [d for d in ort.get_ep_devices() if d.ep_name == PROVIDER]
        ctypes.CDLL(qnn.get_qnn_htp_path())

    def compile(
        self, model: bytes, soc_model: int, feeds: Mapping[str, Array] | None = None
    ) -> Compiled:
        """With `feeds` what was compiled also runs on the emulator."""
        with tempfile.TemporaryDirectory(prefix="atlas-") as folder:
            Path(folder, "m.onnx").write_bytes(model)
            if feeds:
                np.savez(Path(folder, "feeds.npz"), **dict(feeds))
            child = os.fork()
            if child == 0:
                self._in_the_child(Path(folder), soc_model, feeds is not None)
            _, status = os.waitpid(child, 0)
            crash = signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else ""
            return _read(Path(folder), crash)

    def _in_the_child(self, folder: Path, soc_model: int, runs: bool) -> None:
        signal.alarm(LONGEST_S)
        try:
            os.chdir(folder)
            log = os.open("log", os.O_CREAT | os.O_WRONLY)
            os.dup2(log, 1)
            os.dup2(log, 2)
            self._session(soc_model, "m.onnx", compiles=True)
            Path("done").touch()
            if runs and Path("m_ctx.onnx").exists():
                session = self._session(soc_model, "m_ctx.onnx", compiles=False)
                feeds = dict(np.load("feeds.npz"))
                wanted = {v.name: feeds[v.name] for v in session.get_inputs()}
                np.savez("answers.npz", *session.run(None, wanted))
        except Exception as error:  # noqa: BLE001 - ONNX Runtime has a dozen kinds; it is told
            Path("error").write_text(str(error), encoding="utf-8")
        finally:
            os._exit(0)

    def _session(self, soc_model: int, name: str, *, compiles: bool) -> Any:
        import onnxruntime as ort

        options = ort.SessionOptions()
        options.log_severity_level = 0 if compiles else 4
        provider = {"backend_type": "htp", "soc_model": str(soc_model), **OPTIONS}
        if compiles:
            provider |= {"enable_framework_op_trace": "1", "framework_op_trace_dir": "."}
            for key, value in ENTRIES.items():
                options.add_session_config_entry(key, value)
        options.add_provider_for_devices(self._devices, provider)
        session = ort.InferenceSession(name, options)
        session.disable_fallback()
        return session


def on_cpu(model: ModelProto, feeds: Mapping[str, Array]) -> list[Array]:
    """What ONNX Runtime's own CPU provider answers, in a child: a bad model may end a process."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.log_severity_level = 4
    # its own kernels for QDQ models saturate on some machines; without them floats are computed
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return [np.asarray(answer) for answer in session.run(None, dict(feeds))]


def _read(folder: Path, crash: str) -> Compiled:
    log = (folder / "log").read_text(encoding="utf-8", errors="replace")
    error_file = folder / "error"
    error = crash or (error_file.read_text(encoding="utf-8") if error_file.exists() else "")
    trace: dict[str, Any] = {}
    with contextlib.suppress(FileNotFoundError):
        trace = json.loads((folder / TRACE).read_text(encoding="utf-8"))
    refused = {node.name: node.reason or "" for node in refused_nodes(log)}
    for node in trace.get("unsupported_nodes", ()):
        refused.setdefault(node["node_name"], node["reason"])
    groups = tuple(_groups(trace))
    if not (folder / "done").exists():
        return Compiled(on="fails", refused=refused, error=error, groups=groups)
    left = _left(folder / "m_ctx.onnx")
    if left is None:
        return Compiled(on="cpu" if refused else "folded", refused=refused, groups=groups)
    answers = None
    if (folder / "answers.npz").exists():
        loaded = np.load(folder / "answers.npz")
        answers = [loaded[name] for name in loaded.files]
    on = "cpu" if left else "npu"
    return Compiled(
        on=on, refused=refused, groups=groups, left=tuple(left), answers=answers, error=error
    )


def _groups(trace: Mapping[str, Any]) -> list[Group]:
    """Several QNN operators of one group have the same sources: they are told together."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for graph in trace.get("subgraph_traces", ()):
        for mapping in graph["op_mappings"]:
            nodes = tuple(s["name"] for s in mapping["sources"] if s["type"] == "OP")
            found.setdefault((mapping["node_group_type"], nodes), []).append(
                mapping["dst_qnn_op_type"]
            )
    return [Group(kind=kind, nodes=nodes, qnn=tuple(qnn)) for (kind, nodes), qnn in found.items()]


def _left(path: Path) -> list[str] | None:
    """Nodes beside the compiled ones; None when nothing was compiled."""
    if not path.exists():
        return None
    import onnx

    model = onnx.load(str(path), load_external_data=False)
    return [node.name for node in model.graph.node if node.op_type != "EPContext"]
