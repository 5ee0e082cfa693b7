"""Digests and the canonical JSON that keys are made of."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

Digest = str
"""64 lower-case hex digits: the sha256 of some contents."""

Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
"""What may stand in a key: nothing that would have to be turned into text first."""


def digest_bytes(data: bytes) -> Digest:
    return hashlib.sha256(data).hexdigest()


def digest_file(path: Path) -> Digest:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest_json(value: Json) -> Digest:
    return digest_bytes(canonical(value))


def canonical(value: Json) -> bytes:
    """The one spelling of a value: sorted keys, no spaces, UTF-8.

    Raises TypeError for anything that JSON has no form for. A default such as
    `str` would put an object's address, and so the run, into a key.
    """
    return json.dumps(
        plain(value), sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    ).encode()


def plain(value: Json) -> Json:
    """`value` in JSON's own types: any mapping as a dict, any sequence as a list."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise TypeError(f"{value} has no form in JSON")
        return value
    if isinstance(value, Mapping):
        if not all(isinstance(key, str) for key in value):
            raise TypeError("JSON wants text as keys")
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [plain(item) for item in value]
    raise TypeError(f"{type(value).__name__} has no form in JSON")
