"""The CSV that the QNN plugin writes with profiling_level: how long a graph and its layers took.

Seen with onnxruntime-qnn 2.7.0 on the host's emulator, with a binary and with a model. Each run of
the graph writes all its rows once more. `basic` has rows of the whole graph; `detailed` and
`optrace` have a NODE row for each QNN operator as well, and, where the plugin has an op trace, a
last column with the ONNX nodes. Names are not quoted, commas in them neither.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from qnnbuild.formats.format_error import FormatError

HEAD = (
    *("Msg Timestamp", "Message", "Time", "Unit of Measurement", "Timing Source"),
    *("Event Level", "Event Identifier"),
)
SOURCES = "ONNX Source Ops"
LAYER = re.compile(r"(?:(?P<name>.*):|(?P<border>\w+) )OpId_\d+ \(\w+\)")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One thing that was measured, once for each run of the graph."""

    name: str
    unit: str  # US, CYCLES, COUNT
    values: tuple[int, ...]

    @property
    def mean(self) -> float:
        return sum(self.values) / len(self.values)


@dataclass(frozen=True, kw_only=True)
class Layer(Measured):
    """`name` is the QNN operator's."""

    nodes: tuple[str, ...] = ()  # of the ONNX graph, where the file tells


@dataclass(frozen=True, kw_only=True)
class ProfileFacts:
    kind: str = "profile"
    size: int
    whole: tuple[Measured, ...]  # of the graph
    layers: tuple[Layer, ...]  # in the graph's order; none at the level basic


def is_profile(head: bytes) -> bool:
    return head.startswith(b"Msg Timestamp,")


def read_profile(data: bytes | memoryview) -> ProfileFacts:
    """Raises FormatError for a file that is not whole."""
    try:
        lines = bytes(data).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise FormatError("a profile that is no text in UTF-8") from None
    if not bytes(data[-1:]).endswith(b"\n"):
        raise FormatError(f"a profile whose line {len(lines)} is cut short")
    columns = tuple(lines[0].split(",")) if lines else ()
    if columns not in (HEAD, (*HEAD, SOURCES)):
        raise FormatError("a profile with other columns than the plugin is known to write")
    whole: dict[tuple[str, str], list[int]] = {}
    layers: dict[tuple[str, str], list[int]] = {}
    nodes: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines[1:], 2):
        kind, value, unit, level, name, sources = _row(number, line, with_sources=columns != HEAD)
        found = LAYER.fullmatch(name) if kind == "NODE" else None
        if found:
            name = found["name"] or found["border"]
            nodes[name] = sources
        # what a row is part of is known by its order only; a part may be called like the whole
        elif level != "ROOT":
            name = f"- {name}"
        (layers if found else whole).setdefault((name, unit), []).append(value)
    return ProfileFacts(
        size=len(data),
        whole=tuple(Measured(name=n, unit=u, values=tuple(v)) for (n, u), v in whole.items()),
        layers=_layers(layers, nodes),
    )


def _layers(
    found: Mapping[tuple[str, str], Sequence[int]], nodes: Mapping[str, tuple[str, ...]]
) -> tuple[Layer, ...]:
    return tuple(
        Layer(name=name, unit=unit, values=tuple(values), nodes=nodes.get(name, ()))
        for (name, unit), values in found.items()
    )


def _row(
    number: int, line: str, *, with_sources: bool
) -> tuple[str, int, str, str, str, tuple[str, ...]]:
    """Kind, value, unit, level, name and ONNX nodes of one line."""
    fields = line.split(",")
    if len(fields) < len(HEAD) + with_sources:
        raise FormatError(f"a profile whose line {number} is cut short")
    _, kind, value, unit, _, level, *rest = fields
    sources = rest.pop() if with_sources else ""
    if not value.isdecimal():
        raise FormatError(f"a profile whose line {number} has no number where a time should be")
    return kind, int(value), unit, level, ",".join(rest), tuple(filter(None, sources.split(";")))
