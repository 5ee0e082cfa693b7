"""Sizes and durations as people write them, and sizes as they read them.

A build of nothing tells a duration and reads none: re is imported by who reads.
"""

from __future__ import annotations

SIZE = r"\d{1,15}(\.\d{1,9})? ?(B|[kKmMgGtT](i?B)?)?"
DURATION = r"\d{1,9}(\.\d{1,9})? ?(s|m|min|h|d)?( ?\d{1,9}(\.\d{1,9})? ?(s|m|min|h))*"
SIZE_HINT = "a number with a unit: 12 GB, 500 MB, 1.5 GiB, 20G"
DURATION_HINT = "a number with a unit: 2 h, 90 min, 1 h 30 min, 45 s"

_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SECONDS = {"": 1, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86_400}


def size_of(text: str) -> int:
    """Bytes: GB is 10^9; GiB, and G alone, is 2^30. Raises ValueError."""
    import re

    if not re.fullmatch(SIZE, text.strip()):
        raise ValueError(f"'{text}' is no size")
    number, letter, rest = re.fullmatch(r"([\d.]+) ?([kKmMgGtT]?)(i?B?)", text.strip()).groups()  # type: ignore[union-attr]
    base = 1000 if rest == "B" else 1024
    return int(float(number) * base ** _POWERS[letter.lower()])


def seconds_of(text: str) -> float:
    """Seconds; a number alone is seconds, too. Raises ValueError."""
    import re

    if not re.fullmatch(DURATION, text.strip()):
        raise ValueError(f"'{text}' is no duration")
    parts = re.findall(r"([\d.]+) ?([a-z]*)", text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def told_size(count: float) -> str:
    """With three digits: 1.25 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 999.5:  # 1000 in three digits would be 1e+03
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"


def duration(seconds: float) -> str:
    """0.3 s, 12 s, 3 min 5 s, 5 h 12 min."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600:,} h {whole % 3600 // 60} min"


def told_end(told: str, took_s: float, saved_s: float) -> str:
    """The last line of a build: made 3; took 12 s, saved 5 min 2 s."""
    saved = f", saved {duration(saved_s)}" if saved_s else ""
    return f"{told}; took {duration(took_s)}{saved}\n"
