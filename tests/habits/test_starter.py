"""What `qnnbuild init` copies names the same plugins of doit as this repo does."""

from __future__ import annotations

import configparser
import tomllib
from pathlib import Path

from qnnbuild.bridge.dodo import PLUGINS

ROOT = Path(__file__).parents[2]


def test_all_three_places_that_name_doits_plugins_agree() -> None:
    ours = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["doit"]
    starter = configparser.ConfigParser()
    starter.read(ROOT / "qnnbuild" / "starter" / "doit.cfg", encoding="utf-8")
    named = {kind: dict(starter[kind]) for kind in starter.sections() if kind != "GLOBAL"}

    assert named == {kind.upper(): plugins for kind, plugins in ours["plugins"].items()}
    assert named == PLUGINS
    assert starter["GLOBAL"]["loader"] == ours["loader"]
