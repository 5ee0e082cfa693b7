"""Which variables of the environment hold what nobody is to read: by their names, here alone."""

from __future__ import annotations

_PARTS = ("TOKEN", "SECRET", "PASSWORD")


def is_secret(name: str) -> bool:
    """Whether its value is kept out of files, messages and paths, which everybody reads."""
    upper = name.upper()
    return any(part in upper for part in _PARTS) or "_KEY_" in f"{upper}_"
