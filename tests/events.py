"""Events as a strict reader sees them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from qnnbuild.model.schemas import EVENTS, schema_text

Event = dict[str, Any]


@cache
def _schema() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(schema_text(EVENTS))
    return found


def events_of(lines: Iterable[str]) -> list[Event]:
    """Each line by the schema, with no field that it does not know, numbered without gaps."""
    events = [json.loads(line) for line in lines]
    for event in events:
        told = _schema()["$defs"][event["event"]]
        Draft202012Validator({**_schema(), "oneOf": [told]}).validate(event)
        assert event.keys() <= told["properties"].keys(), event
    assert [event["n"] for event in events] == list(range(1, len(events) + 1))
    return events


def events_in(path: Path) -> list[Event]:
    return events_of(path.read_text(encoding="ascii").splitlines())


def short(events: Iterable[Event]) -> list[str]:
    """began, action-started fetch/m, action-ended fetch/m made: without what differs."""
    return [
        " ".join(filter(None, (e["event"], e.get("action", ""), e.get("how", "")))) for e in events
    ]
