"""Which variables of the environment hold what nobody is to read: by their names, here alone."""

from __future__ import annotations

import re

_SECRET = re.compile(r"TOKEN|SECRET|PASSWORD|_KEY(_|$)", re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether its value is kept out of files, messages and paths, which everybody reads."""
    return _SECRET.search(name) is not None
