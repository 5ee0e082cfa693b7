"""DLCs: a ZIP of stored records, with the graph as real ones describe it and as the tools need it.

A real DLC, as ONNX Runtime's plugin dumps them, is read too: by its description alone, so that a
context can be made of it but no output computed.
"""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

from tests.standin.tools import flat_writer
from tests.standin.tools.flat_writer import Number, Words
from tests.standin.tools.library_file import Model, UnreadableError
from tests.standin.tools.meta import CODES, Meta
from tests.standin.tools.release import Release

GRAPH, WEIGHTS = "model.standin.json", "model.standin.tar"
MODEL, HISTORY = "model", "dlc.metadata.history"
FIXED_TIME = (1980, 1, 1, 0, 0, 0)


def write(path: Path, model: Model, tool: str, release: Release) -> None:
    command = {"tool": tool, "converterVersion": release.build_id}
    history = {"dlcGenerationInfo": [{"converterCommand": command}]}
    records = {
        MODEL: bytes(8) + flat_writer.buffer({0: [_graph(model.meta)]}, b"NETD"),
        HISTORY: json.dumps(history).encode(),
        GRAPH: json.dumps(model.meta, sort_keys=True).encode(),
        WEIGHTS: model.weights,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file:
        for name, data in records.items():
            file.writestr(zipfile.ZipInfo(name, FIXED_TIME), data)


def read(path: Path) -> Model:
    try:
        with zipfile.ZipFile(path) as file:
            if GRAPH not in file.namelist():
                return _real(path)
            return Model(json.loads(file.read(GRAPH)), file.read(WEIGHTS))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile) as problem:
        raise UnreadableError(f"{path}: {problem}") from problem


def _graph(meta: Meta) -> flat_writer.Table:
    tensors = [
        {1: t["name"], 2: Number("I", kind), 3: Words(t["dims"]), 6: Number("I", t["dtype"])}
        for kind, place in ((0, "inputs"), (1, "outputs"))
        for t in meta[place]
    ]
    return {0: meta["graph"], 1: [{1: node["type"]} for node in meta["nodes"]], 2: tensors}


def _real(path: Path) -> Model:
    from qnnbuild.formats.dlc import read_dlc
    from qnnbuild.formats.format_error import FormatError
    from qnnbuild.formats.tensor import TensorFacts

    def tensors(facts: tuple[TensorFacts, ...]) -> list[Meta]:
        return [
            {
                "name": t.name,
                "source": t.name,
                "dtype": CODES[t.dtype],
                "source_dtype": t.dtype,
                "dims": list(t.shape),
                "order": list(range(len(t.shape))),
            }
            for t in facts
        ]

    data = path.read_bytes()
    try:
        facts = read_dlc(memoryview(data))
    except FormatError as problem:
        raise UnreadableError(f"{path}: {problem}") from problem
    if len(facts.graphs) != 1:
        raise UnreadableError(f"{path}: {len(facts.graphs)} graphs")
    graph = facts.graphs[0]
    meta: Meta = {
        "sdk": "0.0.0.0",  # it does not matter which SDK dumped it
        "graph": graph.name,
        "prefix": "QnnModel",
        "inputs": tensors(graph.inputs),
        "outputs": tensors(graph.outputs),
        "nodes": [],
        "statics": [],
    }
    return Model(meta, data)
