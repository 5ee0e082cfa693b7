"""The search judged on the real emulator."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.model.recipe import Quantization
from tests.searching import Search, with_outlier


def test_a_try_holds_on_the_emulator_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search = Search(tmp_path, with_outlier(), 20.0)
    search.emulator = {"soc_model": 69, "options": {}, "cpu_fallback": False}
    search.attempt("w8a8", Quantization())
    first = search.verdict()
    search.attempt("w8a8", Quantization(), lifts=1, listed=search.sensitivity())
    second = search.verdict()

    assert set(first["sqnr_db"]) == {"CPU"}
    assert not first["holds"]
    assert second["sqnr_db"]["HTP emulator"] > 21
    assert (second["holds"], second["lifted"]) == (True, ["Add_a"])


def test_what_the_emulator_does_not_take_does_not_hold(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    search = Search(tmp_path, with_outlier(), -200.0)
    search.emulator = {"soc_model": 999999, "options": {}, "cpu_fallback": False}
    search.attempt("w8a8", Quantization())

    assert not search.verdict()["holds"]
    assert search.verdict()["below"][0].startswith("HTP emulator: ")
