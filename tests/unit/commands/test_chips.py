"""What people see who ask which chip they have."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

import pytest

from qnnbuild.commands.chips import run
from qnnbuild.commands.chips_meant import looked_up
from qnnbuild.errors import NothingMatches
from qnnbuild.model.chips import packaged_chips


def test_one_chip_is_told_in_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    code = run(Namespace(words=["8gen3"], json=False))
    told = capsys.readouterr().out

    assert code == 0
    assert "SM8650  57         v75  8 MB  4    yes   phones  Snapdragon 8 Gen 3" in told
    assert "\n  kernel's ids  557, 577, 696\n" in told
    assert "\n  in a recipe   chips: [SM8650]\n" in told


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("galaxy s24", "a phone says it itself: adb shell getprop ro.soc.model; all chips: "),
        ("8 elit", "did you mean 'Snapdragon 8 Elite' or "),
        ("SM8999", "did you mean 'SM8975' or 'SM8950'? all chips: "),
    ],
)
def test_whoever_does_not_know_the_chip_is_told_who_does(word: str, hint: str) -> None:
    with pytest.raises(NothingMatches) as caught:
        looked_up(word, packaged_chips())

    assert str(caught.value.problems[0].hint).startswith(hint)
