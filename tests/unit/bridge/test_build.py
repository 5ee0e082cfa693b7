"""qnnbuild build: what doit is given, and what of the repo it reads."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.bridge import build
from qnnbuild.cli import main


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The files that doit may read and the words that it gets, in a repo that nobody has built."""
    told: list[Any] = []

    class Told:
        def __init__(self, config_filenames: tuple[str, ...], **_: object) -> None:
            told.append(config_filenames)

        def run(self, words: list[str]) -> int:
            told.append(words)
            return 0

    monkeypatch.setattr("doit.doit_cmd.DoitMain", Told)
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.chdir(tmp_path)
    return told


@pytest.mark.parametrize(
    ("line", "words", "files"),
    [
        ("build", [], build.READ_BY_DOIT),
        ("build -n 4", ["-n", "4"], build.READ_BY_DOIT),
        ("build --trust --continue x", ["--continue", "x"], build.READ_BY_DOIT),
        ("build --no-trust --continue", ["--continue"], ()),
        ("--no-trust build -n 4 --continue x", ["-n", "4", "--continue", "x"], ()),
        ("build x --no-trust", ["x"], ()),
        ("build --no-tru x --trust", ["x"], ()),
    ],
)
def test_doit_gets_its_words_and_reads_nothing_of_strangers(
    given: list[Any], line: str, words: list[str], files: tuple[str, ...]
) -> None:
    assert main(line.split()) == 0

    assert given == [files, ["run", *words]]
