"""docs/performance.md says what was measured, and whether it is as good as it should be."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).parents[2] / "bench"
sys.path.insert(0, str(BENCH))

# bench/ is a folder of programs, no package
Row: Any = importlib.import_module("measuring").Row
made: Any = importlib.import_module("performance_page")

MACHINE = {
    "day": "2026-11-30", "cores": 2, "memory_gb": 25, "python": "3.11.7",
    "packages": {"doit": "0.37.0"},
}  # fmt: skip


def row(**more: object) -> Any:
    told = {"part": "noop", "what": "nothing", "size": 20_000, "ours": 0.3, "theirs": 0.2}
    return Row(**{**told, "against": "ninja", **more})


@pytest.mark.parametrize(
    ("more", "ratio", "holds"),
    [
        ({"limit": 2.0}, 1.5, True),
        ({"limit": 1.5}, 1.5, True),
        ({"limit": 1.4}, 1.5, False),
        ({}, 1.5, None),
        ({"theirs": None, "limit": 0.4}, None, True),
        ({"theirs": None, "limit": 0.2}, None, False),
    ],
)
def test_a_goal_is_a_ratio_where_there_is_one(more, ratio, holds):
    found = row(**more)

    assert (found.ratio and round(found.ratio, 6), found.holds) == (ratio, holds)


def test_a_goal_that_was_missed_is_told():
    rows = [row(limit=2.0), row(limit=1.4), row(theirs=None, unit="MB", ours=1234.5, limit=2000)]
    told = {"parts": {"noop": {"machine": MACHINE, "rows": [one.as_json() for one in rows]}}}
    text = made.page(told)

    assert "| nothing | 20,000 | 0.30 s | ninja 0.20 s | 1.50 | ≤ 2: holds |" in text
    assert "| nothing | 20,000 | 0.30 s | ninja 0.20 s | 1.50 | ≤ 1.4: **missed** |" in text
    assert "| nothing | 20,000 | 1,234 MB |  |  | ≤ 2,000 MB: holds |" in text
    assert "2026-11-30, 2 cores, 25 GB, Python 3.11.7, doit 0.37.0." in text
    assert "## A first build" not in text


def test_the_page_is_made_of_its_figures():
    told = json.loads(made.DATA.read_text(encoding="utf-8"))

    assert made.PAGE.read_text(encoding="utf-8") == made.page(told)
    assert {part for part in told["parts"] if f"performance/{part}.svg" in made.page(told)} == {
        path.stem for path in made.PLOTS.iterdir()
    }
