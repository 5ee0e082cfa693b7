"""Which plugin is installed, and what it brings: asked once, and only by an option that has a first
version. Nothing of it is imported for that."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from typing import TYPE_CHECKING

from qnnbuild.toolchains.ort_options import Since, option_data

if TYPE_CHECKING:
    from importlib.metadata import Distribution

PLUGIN = "onnxruntime-qnn"
FACTS = "onnxruntime_qnn/build_and_package_info.py"
QAIRT = re.compile(r"qnn_version\s*=\s*['\"]([0-9.]+)")

WORDS = {"plugin": PLUGIN, "qairt": "QAIRT", "qnn_api": "QNN's API"}


@dataclass(frozen=True, kw_only=True)
class Versions:
    """None: nobody tells."""

    plugin: str | None = None
    qairt: str | None = None
    qnn_api: str | None = None

    def lacks(self, since: Since) -> tuple[str, str, str] | None:
        """What is too old: its name, the version that is wanted, the one that is there."""
        for name, wanted in since.said:
            here: str | None = getattr(self, name)
            if here is not None and _numbers(here) < _numbers(wanted):
                return WORDS[name], wanted, here
        return None


@cache
def installed() -> Versions:
    """What is there; all None without the plugin: the build says so itself."""
    from importlib import metadata  # ten milliseconds that only such an option needs

    try:
        found = metadata.distribution(PLUGIN)
    except metadata.PackageNotFoundError:
        return Versions()
    return versions_of(found.version, _told_qairt(found))


def versions_of(plugin: str, qairt: str | None = None) -> Versions:
    """A plugin's versions; what it does not tell itself is from the table of releases."""
    release = next((one for one in option_data().releases if one.plugin == plugin), None)
    if release is None:
        return Versions(plugin=plugin, qairt=qairt)
    return Versions(plugin=plugin, qairt=qairt or release.qairt, qnn_api=release.qnn_api)


def _told_qairt(found: Distribution) -> str | None:
    text = found.read_text(f"../{FACTS}")
    told = QAIRT.search(text or "")
    return told[1] if told else None


def _numbers(version: str) -> tuple[int, ...]:
    """2.10 is newer than 2.9; whatever follows the numbers does not count."""
    parts = (re.match(r"[0-9]+", part) for part in version.split("."))
    return tuple(int(part[0]) for part in takewhile(bool, parts) if part)
