"""Numbers for people. Pure."""

from __future__ import annotations


def size(count: int) -> str:
    """Bytes for people: 446 kB, 1.02 MB."""
    for factor, unit in ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if count >= factor:
            return f"{count / factor:.3g} {unit}"
    return f"{count} B"


def sizes(both: tuple[int, int] | None) -> str:
    if both is None:
        return "–"
    least, most = map(size, both)
    return least if least == most else f"{least} to {most}"


def span(both: tuple[float, float] | None, form: str) -> str:
    if both is None:
        return "–"
    least, most = map(form.format, both)
    return least if least == most else f"{least} to {most}"


def share(part: float | None) -> str:
    return "–" if part is None else f"{part:.3%}"
