"""How often each fault strikes: a little with `make test`, in full with `make laws`."""

from __future__ import annotations

import os
import random

FULL = os.environ.get("QNNBUILD_LAWS") == "full"
SEED = int(os.environ.get("QNNBUILD_LAWS_SEED", "7"))
"""Everything that is chosen is chosen by it: the same seed does the same again."""


def runs(few: int, full: int) -> int:
    """How many runs a law gets."""
    return full if FULL else few


def chance(law: str) -> random.Random:
    """A law's own choices: what one law takes shifts nothing in another."""
    return random.Random(f"{SEED} {law}")
