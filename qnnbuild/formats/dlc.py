"""DLC files: a ZIP of records with a graph, its parameters, or compiled contexts for several chips.

The format has no public description. `model` holds a FlatBuffer with the identifier NETD, eight
bytes in; its field numbers were found with DLCs made from models that were known.
`htp.cache.<chip>.<n>` records are context binaries, `htp.shared.weights.<…>` what they share.
`dlc.metadata…` records are JSON with named fields. A file with contexts and without a model is
what ONNX Runtime writes when `soc_model` lists several chips.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats import flatbuffer
from qnnbuild.formats.context_binary import ContextFacts, may_be_context_binary, read_context_binary
from qnnbuild.formats.flatbuffer import Table
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.tensor import GraphFacts, TensorFacts, qnn_dtype
from qnnbuild.formats.zip_records import ZipRecord, read_records, record_data

MODEL_BUFFER_AT = 8
APP_WRITE, APP_READ = 0, 1
MAX_JSON = 16 << 20


@dataclass(frozen=True, kw_only=True)
class RecordFacts:
    name: str
    size: int


@dataclass(frozen=True, kw_only=True)
class DlcFacts:
    kind: str  # "DLC", or "multi-chip context binary"
    size: int
    records: tuple[RecordFacts, ...]
    graphs: tuple[GraphFacts, ...] = ()
    contexts: tuple[ContextFacts, ...] = ()
    converter: str | None = None  # tool and version
    notes: tuple[str, ...] = ()


def read_dlc(data: memoryview) -> DlcFacts:
    """Raises FormatError when the file is not whole or not a DLC."""
    records = read_records(data)
    if not any(
        record.name.startswith(("dlc.", "model", "htp.", "backend.metadata")) for record in records
    ):
        raise FormatError("a ZIP, but not a DLC: none of its records is one that a DLC has")
    notes: list[str] = []
    contexts: list[ContextFacts] = []
    graphs: tuple[GraphFacts, ...] = ()
    converter: str | None = None
    for record in records:
        contents = record_data(data, record)
        if may_be_context_binary(contents):
            contexts.append(_context(contents, record))
        elif record.name == "model":
            graphs = _graphs(contents, notes)
        elif record.name.startswith("dlc.metadata.history"):
            converter = _converter(contents)
    return DlcFacts(
        kind="DLC" if graphs or not contexts else "multi-chip context binary",
        size=len(data),
        records=tuple(RecordFacts(name=record.name, size=record.size) for record in records),
        graphs=graphs,
        contexts=tuple(contexts),
        converter=converter,
        notes=tuple(notes),
    )


def _context(contents: memoryview, record: ZipRecord) -> ContextFacts:
    try:
        return read_context_binary(contents, record.name)
    except FormatError as error:
        raise FormatError(f"'{record.name}': {error}") from None


def _graphs(contents: memoryview, notes: list[str]) -> tuple[GraphFacts, ...]:
    if bytes(contents[12:16]) != b"NETD":
        notes.append("its 'model' record is of an unknown version")
        return ()
    model = flatbuffer.root(contents[MODEL_BUFFER_AT:])
    return tuple(_graph(graph) for graph in model.tables(0))


def _graph(graph: Table) -> GraphFacts:
    tensors = graph.tables(2)
    operators = Counter(operator.text(1) for operator in graph.tables(1))
    return GraphFacts(
        name=graph.text(0),
        inputs=tuple(_tensor(tensor) for tensor in tensors if tensor.number(2, "I") == APP_WRITE),
        outputs=tuple(_tensor(tensor) for tensor in tensors if tensor.number(2, "I") == APP_READ),
        operators=tuple(sorted(operators.items(), key=lambda item: (-item[1], item[0]))),
    )


def _tensor(tensor: Table) -> TensorFacts:
    return TensorFacts(
        name=tensor.text(1), dtype=qnn_dtype(tensor.number(6, "I")), shape=tensor.numbers(3)
    )


def _converter(contents: memoryview) -> str | None:
    try:
        history: Any = json.loads(bytes(contents[:MAX_JSON]))
        command = history["dlcGenerationInfo"][0]["converterCommand"]
        return f"{command['tool']} {command['converterVersion']}"
    except (ValueError, LookupError, TypeError, RecursionError):
        return None
