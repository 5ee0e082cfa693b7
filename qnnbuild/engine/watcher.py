"""What an action is at while it is being made, for whoever shows it."""

from __future__ import annotations

from typing import Protocol

MEMORY = "memory"
ANOTHER_BUILD = "another build"
SAME_KEY = "one with the same key"
A_WORKER = "a worker"
"""What an action may wait for, besides what it needs."""


class Watcher(Protocol):
    """Called from the threads that make actions, again and again with the same; takes no time."""

    def waits(self, name: str, what_for: str) -> None:
        """`name` stands still until there is `what_for`."""
        ...

    def runs(self, name: str, where: str = "") -> None:
        """Its process begins. `where`: the worker of a cluster that has it."""
        ...


class Nobody:
    """Nobody looks."""

    def waits(self, name: str, what_for: str) -> None:
        """Is not heard."""

    def runs(self, name: str, where: str = "") -> None:
        """Is not heard."""
