"""Words that somebody may have meant, by edit distance: part numbers differ in one digit only."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(word: str, known: Iterable[str]) -> tuple[str, ...]:
    """The known words that need the fewest changes, at most two, to become `word`."""
    by_distance: dict[int, list[str]] = {}
    for name in known:
        if abs(len(name) - len(word)) <= 2:
            by_distance.setdefault(_distance(word.upper(), name.upper()), []).append(name)
    most = min(2, len(word) // 2)
    closest = min(by_distance, default=most + 1)
    return tuple(by_distance[closest][:3]) if closest <= most else ()


def _distance(a: str, b: str) -> int:
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, start=1):
        row = [i]
        for j, y in enumerate(b, start=1):
            row.append(min(above[j] + 1, row[-1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]
