"""Context binaries: the container that real ones have, and in the payload what the tools need.

The head and the description are laid out as in real files, so that a reader of those reads these
too. In the payload stand the compiler's settings of each graph as text, then, behind a mark, the
metadata as JSON and each distinct set of weights once when they are shared, else for each graph.
"""

from __future__ import annotations

import hashlib
import json
import re
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.standin.tools import flat_writer
from tests.standin.tools.flat_writer import Inline, Number, Words
from tests.standin.tools.meta import Meta

MAGIC = bytes.fromhex("00000002 00000003 00000000 00000001")
MARK = b"QNNSTANDIN-CONTEXT:"
DESCRIPTION_AT = 0x28
HTP = 6


def write(path: Path, head: Meta, weights: Sequence[bytes], *, share: bool) -> int:
    """`head` says all of the context but the weights; returns the size."""
    stored: dict[str, bytes] = {}
    order = []
    for number, data in enumerate(weights):
        key = hashlib.sha256(data).hexdigest() if share else str(number)
        stored[key] = data
        order.append(key)
    sizes = [(key, len(data)) for key, data in stored.items()]
    metadata = json.dumps({**head, "weights": order, "stored": sizes}, sort_keys=True).encode()
    settings = b"".join(_settings(head, graph) for graph in head["graphs"])
    payload = settings + MARK + struct.pack("<Q", len(metadata)) + metadata
    payload += b"".join(stored.values())
    description = flat_writer.buffer(_description(head))
    payload_at = DESCRIPTION_AT + len(description) + (-len(description) % 8)
    sections = struct.pack("<3Q", len(description), payload_at, len(payload))
    data = (MAGIC + sections + description).ljust(payload_at, b"\0") + payload
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return len(data)


def read(path: Path) -> tuple[Meta, list[bytes]] | None:
    """The metadata and each graph's weights; None when it is no context binary."""
    data = path.read_bytes() if path.is_file() else b""
    at = data.find(MARK)
    if data[:16] != MAGIC or at < 0:
        return None
    at += len(MARK)
    size = struct.unpack_from("<Q", data, at)[0]
    head: Meta = json.loads(data[at + 8 : at + 8 + size])
    at += 8 + size
    stored = {}
    for key, length in head["stored"]:
        stored[key] = data[at : at + length]
        at += length
    if at > len(data):
        return None
    return head, [stored[key] for key in head["weights"]]


def _settings(head: Meta, graph: Meta) -> bytes:
    text = (
        f"OpO={graph['O']};soc_type={head['soc_type']};arch={head['arch']};num_nsps=1;"
        f"hvx_threads={graph['hvx']};hmx_type=1;vtcm_size={graph['vtcm_mb'] << 20};"
    )
    return b"\0\0" + text.encode() + b"\0\0"


def _description(head: Meta) -> flat_writer.Table:
    """The build id stands without its last part, as the HTP's own library writes it."""
    info: dict[int, Any] = {
        0: Number("I", HTP),
        1: head["build_id"].partition("_")[0],
        2: _version(head["core_api"]),
        3: _version(head["backend_api"]),
        5: _version(head["blob_version"]),
        10: [{2: {0: {0: _graph(graph["meta"])}}} for graph in head["graphs"]],
        15: struct.pack("<2I", 1, head["arch"]),
        16: Number("I", head["soc_model"]),
    }
    return {0: {1: Number("B", 3), 2: info}}


def _graph(meta: Meta) -> flat_writer.Table:
    return {
        0: meta["graph"],
        2: [_tensor(tensor) for tensor in meta["inputs"]],
        4: [_tensor(tensor) for tensor in meta["outputs"]],
    }


def _tensor(tensor: Meta) -> flat_writer.Table:
    made: dict[int, Any] = {
        3: Number("I", tensor["dtype"]),
        7: Words(tensor["dims"]),
        9: tensor["name"],
    }
    if "scale" in tensor:
        made[4] = Number("I", 1)
        made[13] = Number("I", 0)
        made[15] = {0: Number("f", tensor["scale"]), 1: Number("i", tensor["offset"])}
    return made


def _version(text: str) -> Inline:
    return Inline([int(part) for part in re.findall(r"\d+", text)[:3]])
