"""What all tests share: golden files and the option that rewrites them."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from pathlib import Path

import pytest

Golden = Callable[[Path, str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--accept", action="store_true", help="write the golden files instead of comparing them"
    )


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files begin, so that at the end no worker waits for one of them."""
    weights: dict[Path, float] = {}
    for item in items:
        marks = [*item.iter_markers("slow"), *item.iter_markers("long_file")]
        seconds = max([0.0, *(float(mark.kwargs.get("seconds", 0)) for mark in marks)])
        weights[item.path] = max(weights.get(item.path, 0.0), seconds)
    items.sort(key=lambda item: -weights[item.path])


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """golden(path, text): `text` is what the file says, or becomes it under --accept."""

    def compare(path: Path, text: str) -> None:
        if request.config.getoption("--accept"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8", newline="\n")
            return
        if not path.exists():
            pytest.fail(f"{path} is not there; pytest --accept writes it. It would say:\n{text}")
        wanted = path.read_text(encoding="utf-8")
        if text != wanted:
            lines = difflib.unified_diff(
                wanted.splitlines(), text.splitlines(), path.name, "now", lineterm=""
            )
            pytest.fail("\n".join([*lines, "pytest --accept takes the new text"]))

    return compare
