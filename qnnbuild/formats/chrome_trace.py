"""Chrome traces, as qnn-profile-viewer writes them out of an optrace: what ran where and when.

The form is that of Chrome's trace viewer: an object with "traceEvents", or a list of events; those
with "ph": "X" have a start and a duration. In what qnn-profile-viewer writes, process 0 is the core
as a whole and the others show the same events again, node by node; times are in cycles, and "args"
names the QNN operator that an event works for. Its "Dominant Path Cycles" are what an operator adds
to the time of the whole: operators run side by side, so durations add up to more than that.
(QAIRT 2.39 and later, by public descriptions of its files; no such tool is on PyPI.)
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.profile_csv import Layer

OPERATOR, DOMINANT = "QNN Op Name", "Dominant Path Cycles"
WHOLE = 0  # the process of the core as a whole
NOT_RUN = "Non Executed"

Names = Mapping[tuple[Any, Any], str]
"""(process, thread) → its name."""


@dataclass(frozen=True, kw_only=True)
class ChromeTraceFacts:
    kind: str = "Chrome trace"
    size: int
    unit: str  # CYCLES or US
    span: int  # from the first start to the last end
    events: int
    threads: tuple[tuple[str, int], ...]  # the name of each and how long it worked
    layers: tuple[Layer, ...]  # each QNN operator with one value; else each name of an event


def read_chrome_trace(data: bytes | memoryview) -> ChromeTraceFacts:
    """Raises FormatError for a file that is not whole or has no such events."""
    try:
        told = json.loads(bytes(data))
        events = told if isinstance(told, list) else told["traceEvents"]
        return _facts(list(_ran(events)), _names(events), len(data))
    except FormatError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        raise FormatError("no Chrome trace: it is no JSON with whole traceEvents") from None


def _facts(ran: list[dict[str, Any]], names: Names, size: int) -> ChromeTraceFacts:
    if not ran:
        raise FormatError("a Chrome trace in which nothing ran")
    threads: dict[str, int] = {}
    layers: dict[str, int] = {}
    for event in ran:
        place = names.get((event["pid"], event.get("tid")), f"thread {event.get('tid')}")
        threads[place] = threads.get(place, 0) + int(event["dur"])
        args = event.get("args") or {}
        name = str(args.get(OPERATOR) or event["name"])
        layers[name] = layers.get(name, 0) + int(args.get(DOMINANT, event["dur"]))
    unit = "CYCLES" if any(DOMINANT in (event.get("args") or {}) for event in ran) else "US"
    first = min(int(event["ts"]) for event in ran)
    return ChromeTraceFacts(
        size=size,
        unit=unit,
        span=max(int(event["ts"]) + int(event["dur"]) for event in ran) - first,
        events=len(ran),
        threads=tuple(threads.items()),
        layers=tuple(Layer(name=n, unit=unit, values=(v,)) for n, v in layers.items()),
    )


def _ran(events: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Each event once: of the core as a whole where it is there."""
    complete = [event for event in events if event.get("ph") == "X" and {"ts", "dur"} <= {*event}]
    names = _names(events)
    whole = any(event["pid"] == WHOLE for event in complete)
    for event in complete:
        place = names.get((event["pid"], event.get("tid")), "")
        if (event["pid"] == WHOLE or not whole) and NOT_RUN not in place:
            yield event


def _names(events: list[dict[str, Any]]) -> Names:
    return {
        (event["pid"], event.get("tid")): str(event["args"]["name"])
        for event in events
        if event.get("ph") == "M" and event.get("name") == "thread_name"
    }
