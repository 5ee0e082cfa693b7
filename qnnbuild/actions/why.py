"""Why an action has to run, in words: the parts of its key, then and now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qnnbuild.actions.action import Action, Input, OutputOf, SourceFiles, SourceOnnx
from qnnbuild.digest import Json


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
    if isinstance(old, Mapping) or isinstance(new, Mapping):
        was = old if isinstance(old, Mapping) else {}
        is_ = new if isinstance(new, Mapping) else {}
        for key in sorted(was.keys() | is_.keys()):
            yield from differences(f"{path}.{key}", was.get(key), is_.get(key))
    elif old != new:
        yield path, old, new


def _sentence(action: Action, path: str, old: Json, new: Json) -> str:
    part, _, name = path.partition(".")
    if part == "inputs":
        shown = _origin(name, action.inputs.get(name))
        if old is None:
            return f"{shown} is new"
        if new is None:
            return f"input {name} is no longer taken"
        return f"{shown} changed: {_short(old)} → {_short(new)}"
    if part == "tool":
        return f"{_tool(name)} changed: {_short(old)} → {_short(new)}"
    return f"{name or part} changed: {_short(old)} → {_short(new)}"


def _origin(name: str, source: Input | None) -> str:
    if isinstance(source, OutputOf):
        return f"what {source.action} makes ({source.output})"
    if isinstance(source, SourceOnnx):
        return f"the file {source.path}"
    if isinstance(source, SourceFiles):
        return f"a file of {', '.join(source.patterns)}"
    return f"input {name}"


def _tool(name: str) -> str:
    kind, _, rest = name.partition(":")
    return {"code": f"the code of {rest}", "package": f"the package {rest}"}.get(kind, name)


def _short(value: Json) -> str:
    if value is None:
        return "nothing"
    text = value if isinstance(value, str) else repr(value)
    head, found, digest = text.rpartition("sha256:")
    if found:
        return f"{head}{digest[:12]}".strip()
    if len(text) == 64 and set(text) <= set("0123456789abcdef"):
        return text[:12]
    return text if len(text) <= 80 else f"{text[:77]}…"
