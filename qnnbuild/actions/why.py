"""Why an action has to run, in words: the parts of its key, then and now."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, Provenance, SourceFiles, SourceOnnx
from qnnbuild.digest import Json, canonical, plain

MOST_SHOWN = 80
"""Characters of a value that a sentence shows."""

DIGEST = re.compile(r"(?:sha256:)?\b([0-9a-f]{12})[0-9a-f]{52}\b")
"""Its first 12 digits are shown."""


def changes(action: Action, old: Mapping[str, Json], new: Mapping[str, Json]) -> tuple[str, ...]:
    """One sentence for each value that differs, with both values."""
    return tuple(_changes(action, old, new))


def _changes(action: Action, old: Mapping[str, Json], new: Mapping[str, Json]) -> Iterator[str]:
    if old.get("key_version") != new.get("key_version"):
        yield (
            f"qnnbuild's keys have another meaning now: "
            f"version {old.get('key_version')} → {new.get('key_version')}"
        )
    for part in sorted((old.keys() | new.keys()) - {"key_version"}):
        for path, was, is_ in differences(part, old.get(part), new.get(part)):
            yield _sentence(action, path, was, is_)


def differences(path: str, old: Json, new: Json) -> Iterator[tuple[str, Json, Json]]:
    """Every leaf that differs: its dotted path, the old and the new value (None: not there)."""
    was = {} if old is None else old
    is_ = {} if new is None else new
    if isinstance(was, Mapping) and isinstance(is_, Mapping) and (was or is_):
        for key in sorted(was.keys() | is_.keys()):
            yield from differences(f"{path}.{key}", _leaf(was, key), _leaf(is_, key))
    elif canonical(old) != canonical(new):  # as keys see it: 1, 1.0 and true are three values
        yield path, old, new


def _leaf(values: Mapping[str, Json], key: str) -> Json:
    value = values.get(key)
    return "null" if value is None and key in values else value


def _sentence(action: Action, path: str, old: Json, new: Json) -> str:
    part, _, name = path.partition(".")
    if part == "inputs":
        shown = _origin(name, action.inputs.get(name))
        if old is None:
            return f"{shown} is new"
        if new is None:
            return f"input {name} is no longer taken"
    elif part == "tool":
        shown = _tool(name)
    elif part == "env":
        shown = f"the variable {name}"
    else:
        shown = {"argv": "the command"}.get(part, name or part)
    was, is_ = _short(old), _short(new)
    if max(len(was), len(is_)) > MOST_SHOWN:
        pairs = enumerate(zip(was, is_, strict=False))
        same = next((i for i, (a, b) in pairs if a != b), min(len(was), len(is_)))
        was, is_ = (_cut(text, max(0, same - MOST_SHOWN // 4)) for text in (was, is_))
    return f"{shown} changed: {was} → {is_}"


def _origin(name: str, source: Input | None) -> str:
    if isinstance(source, OutputOf):
        return f"what {source.action} makes ({source.output})"
    if isinstance(source, SourceOnnx):
        return f"the file {source.path}"
    if isinstance(source, SourceFiles):
        return f"a file of {', '.join(source.patterns)}"
    if isinstance(source, Provenance):
        return "the history of what it needs"
    return f"input {name}"


def _tool(name: str) -> str:
    kind, _, rest = name.partition(":")
    return {"code": f"the code of {rest}", "package": f"the package {rest}"}.get(kind, name)


def _short(value: Json) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else json.dumps(plain(value), ensure_ascii=False)
    return DIGEST.sub(r"\1", text)


def _cut(text: str, start: int) -> str:
    """A piece of a long text around the first place where it differs from the other."""
    shown = text[start : start + MOST_SHOWN]
    return ("…" if start else "") + shown + ("…" if start + MOST_SHOWN < len(text) else "")
