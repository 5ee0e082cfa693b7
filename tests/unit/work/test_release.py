"""The release that bundles tell is the package's."""

from __future__ import annotations

import tomllib
from pathlib import Path

from qnnbuild.work.release import VERSION


def test_the_release_in_bundles_is_the_packages() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))

    assert project["project"]["version"] == VERSION
