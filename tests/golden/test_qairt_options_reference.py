"""docs/qairt-options.md says what the data of the options says."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from qnnbuild.report.qairt_options_reference import page, parts

PAGE = Path(__file__).parents[2] / "docs/qairt-options.md"


def test_the_page_is_what_the_data_says(golden: Callable[[Path, str], None]) -> None:
    golden(PAGE, page())


def test_every_option_has_a_row() -> None:
    """One that two tools have stands in the part of each."""
    text = page()
    for name, _, options in parts():
        part = text.partition(f"## {name}\n")[2].partition("\n## ")[0]

        assert [one for one in options if f"| `{one}`" not in part] == []
