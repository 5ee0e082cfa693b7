"""Chrome traces: the form of qnn-profile-viewer by public descriptions, and Chrome's own."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qnnbuild.formats.chrome_trace import read_chrome_trace
from qnnbuild.formats.format_error import FormatError


def named(kind: str, name: str, pid: int, tid: int | None = None) -> dict[str, Any]:
    place = {"pid": pid} if tid is None else {"pid": pid, "tid": tid}
    return {"cat": "__metadata", "ph": "M", "name": kind, "args": {"name": name}, **place}


def ran(place: tuple[int, int], when: tuple[int, int], dominant: int, operator: str) -> Any:
    """`place` is process and thread, `when` start and duration."""
    args = {
        "QNN Op Name": operator,
        "HTP Op Type": "q::ConvLayer",
        "Duration (cycles)": when[1],
        "Dominant Path Cycles": dominant,
    }
    event = {"name": "q::ConvLayer", "ph": "X", "args": args}
    return {**event, "pid": place[0], "tid": place[1], "ts": when[0], "dur": when[1]}


QHAS = {
    "header": {"artifact_type": "OP_TRACE"},
    "traceEvents": [
        named("process_name", "Core 0 Overview", 0),
        named("thread_name", "Core:0 Type: HMX Tid: 256", 0, 256),
        named("thread_name", "Core:0 Type: HVX Tid: 512", 0, 512),
        named("thread_name", "Non Executed Tensors", 0, 1),
        ran((0, 256), (100, 50), 40, "conv"),
        ran((0, 512), (110, 30), 5, "conv"),
        ran((0, 512), (150, 20), 20, "relu"),
        ran((0, 1), (0, 0), 0, "reshape"),
        named("process_name", "QNN::conv", 1),
        ran((1, 256), (100, 50), 40, "conv"),
    ],
}


def test_each_event_counts_once_and_by_what_it_adds_to_the_whole():
    facts = read_chrome_trace(json.dumps(QHAS).encode())

    assert [(layer.name, layer.values) for layer in facts.layers] == [
        ("conv", (45,)),
        ("relu", (20,)),
    ]
    assert (facts.unit, facts.span, facts.events) == ("CYCLES", 70, 3)


def test_a_thread_is_told_by_its_name_and_how_long_it_worked():
    assert read_chrome_trace(json.dumps(QHAS).encode()).threads == (
        ("Core:0 Type: HMX Tid: 256", 50),
        ("Core:0 Type: HVX Tid: 512", 50),
    )


def test_a_trace_of_anything_else_is_told_by_the_names_of_its_events():
    events = [
        {"ph": "X", "pid": 7, "tid": 1, "name": "load", "ts": 0, "dur": 3},
        {"ph": "X", "pid": 7, "tid": 1, "name": "run", "ts": 5, "dur": 2.5},
        {"ph": "B", "pid": 7, "tid": 1, "name": "other", "ts": 5},
    ]
    facts = read_chrome_trace(json.dumps(events).encode())

    assert [(layer.name, layer.unit, layer.values) for layer in facts.layers] == [
        ("load", "US", (3,)),
        ("run", "US", (2,)),
    ]
    assert facts.threads == (("thread 1", 5),)


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b'{"traceEvents": []}', "a Chrome trace in which nothing ran"),
        (b'{"traceEvents": [', "no Chrome trace: it is no JSON with whole traceEvents"),
        (b"[3]", "no Chrome trace: it is no JSON with whole traceEvents"),
        (
            b'[{"ph": "X", "ts": 1, "dur": 2}]',
            "no Chrome trace: it is no JSON with whole traceEvents",
        ),
        (
            b'[{"ph": "X", "ts": "a", "dur": 2, "pid": 0, "name": "a"}]',
            "no Chrome trace: it is no JSON with whole traceEvents",
        ),
    ],
)
def test_what_is_not_whole_is_told(data: bytes, says: str):
    with pytest.raises(FormatError) as caught:
        read_chrome_trace(data)

    assert str(caught.value) == says


def test_an_endless_time_is_refused():
    with pytest.raises(FormatError, match="no Chrome trace"):
        read_chrome_trace(b'[{"ph": "X", "pid": 0, "name": "a", "ts": 1e999, "dur": 1}]')
