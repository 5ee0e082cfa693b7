"""The events of a build: their schema as a page for people.

`python -m qnnbuild.report.events_reference > docs/events.md` writes it; a test compares it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from qnnbuild.model.schemas import EVENTS, schema_text

Schema: TypeAlias = Mapping[str, Any]

HEAD = """\
# Events of a build

Made from `qnnbuild/model/events.schema.json` by `python -m qnnbuild.report.events_reference`.

`doit --json-events FILE` and `qnnbuild build --json-events FILE` write what happens as JSON, one
event a line, for tools: dashboards, editors, CI. `-` is stdout; what people read goes to stderr
then. `/dev/fd/3` is a descriptor that the tool has opened: a pipe, a socket or a file. A reader
that does not read makes the build wait, as one of stdout does; one that goes away is told of, and
the build goes on.

```sh
doit -n 4 --json-events build.jsonl
```

What failed, and the end of its log: `jq -r 'select(.how == "failed") | .action, .last_lines[]?'`.

- Each line is an object with `event`, `n` (1, 2, 3, …) and `time` (UTC). Each is whole, also of a
  build that was killed: only behind the last line end there can be a part of one, which is none.
- The first event is `build-began`, the last one `build-ended`, with the exit code. As long as that
  is missing the build runs, or it was killed.
- Each `action-started` has its `action-ended`. Events of several actions are mixed; of one action
  they are in order.
- `version` is raised when a reader of the form before would be misled. New events and new fields do
  not raise it: skip what you do not know.
- What may be null is always there. Of `action-ended` the fields from `key` on are there as far as
  its `how` has any.
- With a cluster and with a remote cache the events are the same: `where` names the worker, and
  `how` is `fetched`.

It goes with all other options of `doit run` but one of doit's own reporters (`-r`), which hear of
no action.
"""

TYPES = {
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "null": "null",
    "array": "list",
    "object": "object",
}


def page() -> str:
    return reference(json.loads(schema_text(EVENTS)))


def reference(schema: Schema) -> str:
    """A section for each event in their order, then what several of them have in common."""
    definitions: Schema = schema["$defs"]
    events = [choice["$ref"].rpartition("/")[2] for choice in schema["oneOf"]]
    common = [name for name in definitions if name not in events]
    return "\n".join(
        [
            HEAD,
            *(_section(name, definitions) for name in events),
            "## What events share\n",
            *(_section(name, definitions) for name in common),
        ]
    )


def _section(name: str, definitions: Schema) -> str:
    told = definitions[name]
    event = told["properties"].get("event")
    level = "##" if event else "###"
    about = told["description"]
    rows = "\n".join(_rows(told, definitions))
    table = f"| field | value | meaning |\n|---|---|---|\n{rows}\n"
    return f"{level} `{name}`\n\n{about[0].upper()}{about[1:].rstrip('.')}.\n\n{table}"


def _rows(told: Schema, definitions: Schema) -> Iterator[str]:
    for name, field in told["properties"].items():
        if name not in {"event", "n", "time"}:
            meant = definitions[_named(field)] if "$ref" in field else field
            cells = (f"`{name}`", _form(field), meant.get("description", ""))
            yield f"| {' | '.join(cells)} |"


def _form(field: Schema) -> str:
    if "$ref" in field:
        return _link(field)
    if "const" in field:
        return f"`{json.dumps(field['const'])}`"
    if "enum" in field:
        return ", ".join("null" if one is None else f"`{one}`" for one in field["enum"])
    kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
    return " or ".join(_kind(kind, field) for kind in kinds)


def _kind(kind: str, field: Schema) -> str:
    if kind == "array":
        items = field["items"]
        if "properties" in items:
            keys = ", ".join(f"`{key}`" for key in items["properties"])
            return f"list of objects with {keys}"
        return f"list of {_form(items)}"
    return TYPES[kind]


def _link(field: Schema) -> str:
    return f"[`{_named(field)}`](#{_named(field)})"


def _named(field: Schema) -> str:
    return str(field["$ref"]).rpartition("/")[2]


if __name__ == "__main__":
    sys.stdout.write(page())
