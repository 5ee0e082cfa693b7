"""What was made elsewhere, and what its file is called in the output of its fetch."""

from __future__ import annotations

from collections.abc import Mapping

COMPILED, GENIE = "compiled", "genie"
"""The recipe's words for it."""

MADE: Mapping[str, str] = {COMPILED: "model.bin", GENIE: "model.dlc"}
