"""What the SDK's Python is asked to say."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.sdk_program import main
from tests.standin.loadable import loadable


def said(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    main(list(words))
    told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return told


def test_it_says_the_version_and_what_can_be_imported(capsys) -> None:
    found = said(capsys, "yaml", "no_such_package")

    assert found["version"] == list(sys.version_info[:2])
    assert list(found["packages"]) == ["yaml"]
    assert found["failed"] == {
        "no_such_package": "ModuleNotFoundError: No module named 'no_such_package'"
    }


def test_a_module_that_no_package_brings_has_no_version(capsys) -> None:
    assert said(capsys, "json")["packages"] == {"json": "of no package"}


def test_it_loads_libraries_and_says_what_they_miss(capsys, tmp_path: Path) -> None:
    whole, needs, no_elf = (str(tmp_path / name) for name in ("a.so", "b.so", "c.so"))
    Path(whole).write_bytes(loadable())
    Path(needs).write_bytes(loadable(["libpython3.10.so.99"]))
    Path(no_elf).write_text("text")

    found = said(capsys, whole, needs, no_elf)

    text = "cannot open shared object file: No such file or directory"
    assert found["packages"] == {}
    assert found["failed"] == {
        needs: f"OSError: libpython3.10.so.99: {text}",
        no_elf: f"OSError: {no_elf}: file too short",
    }
