"""How the tools speak."""

from __future__ import annotations

import sys
import time


class RefusedError(Exception):
    """The message goes to the log and the tool ends with 1."""


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def stamped(text: str) -> None:
    now = time.time()
    stamp = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    say(f"{stamp},{int(now * 1000) % 1000:03d} - {text}")


def info(text: str, line: int = 235) -> None:
    stamped(f"{line} - INFO - {text}")


def error(text: str, line: int = 183) -> None:
    stamped(f"{line} - ERROR - {text}")


def timed(level: str, text: str, milliseconds: float = 0.0) -> None:
    """The form of the compiled tools."""
    say(f"{milliseconds:8.1f}ms [{level:^7}] {text}")
