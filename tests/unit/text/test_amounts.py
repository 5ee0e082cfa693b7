from __future__ import annotations

import pytest

from qnnbuild.text.amounts import seconds_of, size_of, told_size


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("7", 7), ("7 B", 7), ("5kB", 5000), ("12 GB", 12 * 10**9), ("1.5GiB", 3 << 29),
        ("20G", 20 << 30), ("20g", 20 << 30), ("1K", 1024), (" 2 TB ", 2 * 10**12),
    ],
)  # fmt: skip
def test_sizes(text: str, size: int) -> None:
    assert size_of(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1", "1 XB", "1e9", "1,5 GB", "9" * 400, "1 GB 2"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ValueError, match="is no size"):
        size_of(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45", 45), ("45 s", 45), ("2h", 7200), ("90 min", 5400), ("1 h 30 min", 5400),
        ("1h30m", 5400), ("0.5 h", 1800), ("2 d 1 h", 176_400),
    ],
)  # fmt: skip
def test_durations(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize("text", ["", "h", "soon", "1 week", "-5 s", "1h 3", "9" * 400])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration"):
        seconds_of(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1234, "1.23 kB"), (5e6, "5 MB"), (25_276_063_744, "25.3 GB"),
     (999_700, "1 MB"), (1e12, "1 TB")],
)  # fmt: skip
def test_sizes_for_people(size: float, text: str) -> None:
    assert told_size(size) == text
