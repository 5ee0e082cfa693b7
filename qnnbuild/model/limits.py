"""What a build may take of the machine: `limits:` of qnnbuild.yaml, environment."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qnnbuild.errors import RecipeError
from qnnbuild.text.amounts import DURATION_HINT, SIZE_HINT, seconds_of, size_of

OFF = "off"
VARIABLES = {
    "memory": "QNNBUILD_MEMORY",
    "deadline": "QNNBUILD_DEADLINE",
    "grace": "QNNBUILD_GRACE",
    "free_disk": "QNNBUILD_FREE_DISK",
}
"""Key of `limits:` → the variable that goes before it."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Sizes in bytes, times in seconds."""

    memory: int | None = None  # for all actions that run at once; None: what the machine has
    watches_memory: bool = True  # False: as many actions at once as -n says
    deadline_s: float | None = None  # after it no action starts
    grace_s: float = 300.0  # so long after the deadline what runs may come to its end
    free_disk: int = 0  # stays free
    watches_disk: bool = True


def limits_of(given: Mapping[str, Any] | None) -> Limits:
    """Out of what qnnbuild.yaml says, after it was checked."""
    return _with(Limits(), {name: str(value) for name, value in (given or {}).items()})


def with_environment(limits: Limits, environment: Mapping[str, str]) -> Limits:
    """The environment's word goes before the file's; an empty variable says nothing."""
    told = {name: environment.get(variable, "").strip() for name, variable in VARIABLES.items()}
    for name, text in told.items():
        _check(name, text)
    return _with(limits, {name: text for name, text in told.items() if text})


def _check(name: str, text: str) -> None:
    of_time = name in ("deadline", "grace")
    reads: Callable[[str], float] = seconds_of if of_time else size_of
    if not text or (text == OFF and not of_time):
        return
    try:
        reads(text)
    except ValueError as error:
        hint = DURATION_HINT if of_time else f"{SIZE_HINT}, or {OFF}"
        raise RecipeError(f"{VARIABLES[name]}: {error}", hint=hint) from error


def _with(limits: Limits, told: Mapping[str, str]) -> Limits:
    if text := told.get("memory"):
        off = text == OFF
        memory = None if off else size_of(text)
        limits = replace(limits, memory=memory, watches_memory=not off)
    if text := told.get("free_disk"):
        off = text == OFF
        limits = replace(limits, free_disk=0 if off else size_of(text), watches_disk=not off)
    if text := told.get("deadline"):
        limits = replace(limits, deadline_s=seconds_of(text))
    if text := told.get("grace"):
        limits = replace(limits, grace_s=seconds_of(text))
    return limits
