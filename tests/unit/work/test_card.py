"""What a model card tells of the numbers that were measured."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from qnnbuild.work.card import card

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "bundle" / "manifest.json"


def told(verified: dict[str, Any] | None) -> str:
    """The part of the card under Numbers, for a graph that was run so."""
    manifest = json.loads(GOLDEN.read_text(encoding="utf-8"))
    manifest["graphs"]["vad"]["verified"] = verified
    return card(manifest).partition("## Numbers\n\n")[2].partition("\n\n## ")[0]


def verified(**more: Any) -> dict[str, Any]:
    outputs = {"y": {"sqnr_db": 41.25678, "max_abs": 0.00123, "cosine": 0.99999}}
    judged: dict[str, Any] = {"bars": [], "excused": {}, "metrics": {}}
    return {"on": "SM8550", "why_not": None, "outputs": outputs, **judged, **more}


def test_the_numbers_of_the_binary_stand_first_with_the_chip_that_was_run() -> None:
    lines = told(verified()).splitlines()

    said = "The compiled binary, run on the host's emulator of the chip, against the original model"
    assert lines[:5] == [
        f"{said} on the CPU:",
        "",
        "| graph | output | run as | SQNR dB | largest error | cosine | bar |",
        "| --- | --- | --- | --- | --- | --- | --- |",
        "| `vad` | `y` | SM8550 | 41.26 | 0.00123 | 1 | – |",
    ]


def test_a_number_that_there_is_not_is_a_dash() -> None:
    text = told(verified(outputs={"label": {"differing": 0.0}}))

    assert "| `vad` | `label` | SM8550 | – | – | – | – |" in text


def test_each_output_stands_beside_its_own_bar_or_its_excuse() -> None:
    outputs = {name: {"sqnr_db": 41.0, "max_abs": 0.5, "cosine": 1.0} for name in ("y", "n")}
    bars = [
        {"what": "min_sqnr_db", "of": "y", "bar": 30.0, "against": "the original"},
        {"what": "max_abs_error", "of": "y", "bar": 0.02, "against": "the original"},
        {"what": "min_sqnr_db", "of": "y", "bar": 30.0, "against": "recorded"},
    ]
    text = told(verified(outputs=outputs, bars=bars, excused={"n": "it counts calls"}))

    assert "| 41 | 0.5 | 1 | SQNR at least 30 dB, error at most 0.02 |" in text
    assert "| 41 | 0.5 | 1 | not judged: it counts calls |" in text


def test_the_users_own_measures_are_told() -> None:
    text = told(verified(metrics={"word-errors": {"rate": 0.125, "words": 80.0}}))

    assert text.startswith("`word-errors` of `vad`: rate 0.125, words 80.\n")


def test_what_cannot_be_compared_says_so() -> None:
    text = told(verified(outputs={}, why_not="it is random"))

    assert text.startswith("`vad` cannot be compared: it is random.")


def test_a_binary_that_was_not_run_says_so() -> None:
    assert told(None).startswith("The binary of `vad` was not run.")
