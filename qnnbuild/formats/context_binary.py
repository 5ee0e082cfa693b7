"""HTP context binaries: the chip and SDK of one, and what its graphs take and give.

The format has no public description. What is read here, and how each fact was found:

- Two big-endian words (2, 3) and (0, 1) open the file; at 0x10 three little-endian 64-bit numbers
  say how long the description is, where the payload starts and how long it is. Found by comparing
  files of different sizes; the last two always add up to the file's size.
- At 0x28 stands the description, a FlatBuffer. The plugin's multi-chip files carry the same
  description once more as JSON with named fields ("buildId", "dspArch", "socModel", …); each field
  number below was matched with that JSON, and with models whose inputs and outputs were known.
- The payload holds, for each graph, the compiler's settings as printable text:
  `soc_type=SM8750;arch=79;…`. VTCM and HVX threads are taken from there: the description's own
  VTCM figure was 4 MB for every chip.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field

from qnnbuild.formats import flatbuffer
from qnnbuild.formats.flatbuffer import Table
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.tensor import GraphFacts, TensorFacts, qnn_dtype

MAGIC = bytes.fromhex("00000002 00000003 00000000 00000001")
LIKELY_MAGIC = re.compile(rb"\x00\x00\x00[\x01-\x0f]\x00\x00\x00[\x00-\x1f]\x00\x00\x00[\x00-\x0f]")
DESCRIPTION_AT = 0x28
BUILD_ID = re.compile(r"v\d+\.\d+\.\d+(\.\d+)?(_\d+)?")  # the SDK's own tools add a number
TEXT_REACH = 16384
MAX_SETTINGS = 256

BACKENDS = {4: "GPU", 5: "DSP", 6: "HTP", 9: "LPAI"}
SETTINGS = (
    "O",
    "soc_type",
    "arch",
    "num_nsps",
    "hvx_threads",
    "hmx_type",
    "vtcm_size",
    "extended_udma",
)


@dataclass(frozen=True, kw_only=True)
class ContextFacts:
    """None stands for what the file does not say."""

    kind: str = "context binary"
    size: int
    soc_type: str | None
    soc_model: int | None
    arch: int | None
    vtcm_mb: float | None
    hvx_threads: int | None
    sdk_build: str | None
    backend: str | None = None
    core_api: str | None = None
    backend_api: str | None = None
    blob_version: str | None = None
    graphs: tuple[GraphFacts, ...] = ()
    settings: Mapping[str, str]  # the compiler's own, as far as they are the same for all graphs
    different: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Those that are not: every value that a graph has."""
    record: str | None = None  # its name in a multi-chip file
    notes: tuple[str, ...] = ()


def may_be_context_binary(data: memoryview) -> bool:
    """True for the header that is known and for those that other SDK versions may write."""
    return LIKELY_MAGIC.match(bytes(data[:16])) is not None


def read_context_binary(data: memoryview, record: str | None = None) -> ContextFacts:
    """Raises FormatError when the bytes are no context binary, or not a whole one."""
    if bytes(data[:16]) != MAGIC:
        return _by_settings(data, record, "its header is of an unknown version")
    described = _description(data)
    if described.number(1, "B") != 3:
        return _by_settings(data, record, "its description is of an unknown version")
    info = described.table(2)
    if not BUILD_ID.fullmatch(info.text(1)):
        raise FormatError("damaged: no SDK build where one belongs")
    arch_in_description = _arch(info)
    settings, different, notes = _settings(data)
    return ContextFacts(
        size=len(data),
        soc_type=settings.get("soc_type"),
        soc_model=info.number(16, "I") or None,
        arch=arch_in_description or _whole(settings.get("arch")),
        vtcm_mb=_megabytes(settings.get("vtcm_size")),
        hvx_threads=_whole(settings.get("hvx_threads")),
        sdk_build=info.text(1),
        backend=BACKENDS.get(info.number(0, "I"), str(info.number(0, "I"))),
        core_api=_dotted(info.three(2)),
        backend_api=_dotted(info.three(3)),
        blob_version=_dotted(info.three(5)),
        graphs=tuple(_graph(union.table(2)) for union in info.tables(10)),
        settings=settings,
        different=different,
        record=record,
        notes=notes,
    )


def _description(data: memoryview) -> Table:
    if len(data) < DESCRIPTION_AT:
        raise FormatError(f"cut short: {len(data)} bytes, less than a header")
    length, payload_at, payload_size = struct.unpack_from("<3Q", data, 0x10)
    promised = payload_at + payload_size
    if promised > len(data):
        raise FormatError(
            f"cut short: the header promises {promised} bytes, the file has {len(data)}"
        )
    if DESCRIPTION_AT + length > payload_at:
        raise FormatError("damaged: the description would reach into the payload")
    return flatbuffer.root(data[DESCRIPTION_AT : DESCRIPTION_AT + length]).table(0)


def _by_settings(data: memoryview, record: str | None, why: str) -> ContextFacts:
    """What the compiler's settings alone tell, for files of other SDK versions."""
    settings, different, notes = _settings(data)
    if "soc_type" not in settings:
        raise FormatError(f"not a context binary that can be read: {why}, and it names no chip")
    build = re.search(rb"v\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{6,18}", data)
    return ContextFacts(
        size=len(data),
        soc_type=settings["soc_type"],
        soc_model=None,
        arch=_whole(settings.get("arch")),
        vtcm_mb=_megabytes(settings.get("vtcm_size")),
        hvx_threads=_whole(settings.get("hvx_threads")),
        sdk_build=build.group().decode("ascii") if build else None,
        settings=settings,
        different=different,
        record=record,
        notes=(f"{why}: graphs, inputs and outputs are not known", *notes),
    )


def _graph(info: Table) -> GraphFacts:
    graph = info.table(0).table(0)
    return GraphFacts(
        name=graph.text(0),
        inputs=tuple(_tensor(tensor) for tensor in graph.tables(2)),
        outputs=tuple(_tensor(tensor) for tensor in graph.tables(4)),
    )


def _tensor(union: Table) -> TensorFacts:
    scale, offset = None, None
    if union.number(4, "I") == 1 and union.number(13, "I", 0x7FFFFFFF) == 0 and union.has(15):
        encoding = union.table(15)
        # QNN adds its offset where ONNX subtracts a zero point.
        scale, offset = encoding.real(0), -encoding.number(1, "i")
    return TensorFacts(
        name=union.text(9),
        dtype=qnn_dtype(union.number(3, "I")),
        shape=union.numbers(7),
        scale=scale,
        zero_point=offset,
    )


def _arch(info: Table) -> int | None:
    """The HTP's own note: a version word, then the architecture."""
    if not info.has(15):
        return None
    note = info.raw(15)
    if len(note) < 8:
        return None
    return int(struct.unpack_from("<2I", note)[1]) or None


def _settings(
    data: memoryview,
) -> tuple[dict[str, str], dict[str, tuple[str, ...]], tuple[str, ...]]:
    """The compiler's settings that all graphs share, those that they do not, and a note of each."""
    seen: dict[str, set[str]] = {}
    for count, found in enumerate(re.finditer(rb"soc_type=", data)):
        if count == MAX_SETTINGS:
            break
        for name, value in _setting_run(data, found.start()).items():
            seen.setdefault(name, set()).add(value)
    shared = {name: next(iter(values)) for name, values in seen.items() if len(values) == 1}
    different = {name: tuple(sorted(values)) for name, values in seen.items() if len(values) > 1}
    notes = [
        f"{name} differs between its graphs: {', '.join(values)}"
        for name, values in different.items()
    ]
    if not seen:
        notes.append("the compiler's settings are not in it")
    return {name: shared[name] for name in SETTINGS if name in shared}, different, tuple(notes)


PRINTABLE = bytes(range(0x20, 0x7F))


def _setting_run(data: memoryview, at: int) -> dict[str, str]:
    """Every `name=value;` of the printable text around `at`."""
    before = bytes(data[max(0, at - TEXT_REACH) : at])
    before = before[len(before.rstrip(PRINTABLE)) :]
    after = bytes(data[at : at + TEXT_REACH])
    after = after[: len(after) - len(after.lstrip(PRINTABLE))]
    text = (before + after).decode("ascii")
    # The text is tagged "Op", so the first setting reads "OpO=2".
    pairs = (pair.partition("=") for pair in text.removeprefix("Op").split(";"))
    return {name: value for name, _, value in pairs if name in SETTINGS}


def _dotted(version: tuple[int, int, int]) -> str:
    return ".".join(str(part) for part in version)


def _whole(text: str | None) -> int | None:
    """A number of no more digits than 64 bits have."""
    digits = text[:20] if text is not None else ""
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _megabytes(text: str | None) -> float | None:
    size = _whole(text)
    if size is None:
        return None
    return size >> 20 if size % (1 << 20) == 0 else size / (1 << 20)
