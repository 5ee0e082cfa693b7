"""What differs between versions of the stand-in, and the switches that a test may turn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

FACTS = "share/standin/release.json"
SWITCHES = "share/standin/switches.json"


class Release(NamedTuple):
    version: str
    build_id: str
    core_api: str
    backend_api: str
    blob_version: str
    soc_keys: list[str]  # the keys that name the chip in the HTP config
    archs: list[str]
    weight_bits: list[int]
    spelling: str  # of the flags of qairt-converter and qairt-quantizer: "old" or "new"
    short_widths: bool  # --act_bw and its like, which are deprecated
    command_key: str  # in _net.json; older ones misspell it

    @property
    def number(self) -> tuple[int, ...]:
        """Four parts: the third may be something else than 0."""
        return parts(self.version)

    @property
    def qaisw(self) -> str:
        return f"qaisw-{self.build_id}"


def parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def release(root: Path) -> Release:
    return Release(**json.loads((root / FACTS).read_text(encoding="utf-8")))


def switch(root: Path, name: str, default: Any = None) -> Any:
    """What the test set; see `lay_out.turn`."""
    path = root / SWITCHES
    if not path.is_file():
        return default
    return json.loads(path.read_text(encoding="utf-8")).get(name, default)
