"""docs/events.md says what the schema says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from qnnbuild.report.events_reference import page

PAGE = Path(__file__).parents[2] / "docs" / "events.md"


def test_the_page_is_what_the_schema_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page())
