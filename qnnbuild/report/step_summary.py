"""What came of one build as Markdown: GitHub shows it below the run. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.report.amounts import size, sizes
from qnnbuild.report.diff_markdown import span
from qnnbuild.report.summary import Told, cells
from qnnbuild.work.markdown import table

HEAD = ("model", "chip", "made", "reused", "fetched", "failed", "time", "size", "SQNR")
MOST_ROWS = 1_000
"""GitHub takes a megabyte; a row is about a hundred characters."""

MOST_FAILURES = 50
MOST_SAID = 500

COLUMNS = {"made": "made", "cut off": "made", "reused": "reused", "restored": "reused"} | {
    "fetched": "fetched", "failed": "failed", "not built": "failed"
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Came:
    """What came of one action: as Outcome has it, or failed, or not built."""

    name: str
    model: str
    how: str
    seconds: float = 0.0
    at: str = ""  # file:line:column of a failure
    said: str = ""  # its message


@dataclass
class Row:
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0


def step_summary(came: Sequence[Came], line: str, told: Told | None) -> str:
    """A table of models × chips. `line` is the build's last one; `told` is its report, if any."""
    rows: dict[tuple[str, str], Row] = {}
    for one in came:
        row = rows.setdefault((one.model, chip_of(one.name)), Row())
        row.counts[COLUMNS[one.how]] += 1
        row.seconds += one.seconds
    numbers = _numbers(told) if told is not None else {}
    # what failed has to be seen; the rest as it came
    ordered = sorted(rows, key=lambda place: (not rows[place].counts["failed"], place))
    shown = [_cells(place, rows[place], numbers) for place in ordered[:MOST_ROWS]]
    left = len(ordered) - len(shown)
    text = f"{line.strip()}\n"
    if shown:
        text += f"\n{table(HEAD, shown)}\n" + (f"\n… and {left:,} more rows.\n" if left else "")
    failures = "".join(_failures(came))
    return text + (f"\n### Failed\n\n{failures}" if failures else "")


def chip_of(name: str) -> str:
    """ "SM8750" of "context/vad@SM8750"; empty for what is for all chips."""
    return name.rpartition("@")[2] if "@" in name else ""


def _cells(
    place: tuple[str, str], row: Row, numbers: Mapping[tuple[str, str], tuple[str, str]]
) -> tuple[str, ...]:
    model, chip = place
    counts = (row.counts[column] for column in ("made", "reused", "fetched", "failed"))
    return (
        span(model),
        span(chip) if chip else "all",
        *(f"{count:,}" if count else "" for count in counts),
        f"{row.seconds:,.1f} s" if row.seconds else "",
        *numbers.get(place, ("", "")),
    )


def _numbers(told: Told) -> dict[tuple[str, str], tuple[str, str]]:
    """(model, chip) → sizes of its bundles, and the SQNR of the worst."""
    bytes_: dict[tuple[str, str], list[int]] = {}
    sqnr: dict[tuple[str, str], list[float]] = {}
    for model, _, cell in cells(told):
        place = (model["name"], cell["chip"])
        if cell["size"] is not None:
            bytes_.setdefault(place, []).append(cell["size"])
        proofs = (model["proofs"].get(graph["proof"]) for graph in cell["graphs"])
        found = (proof["sqnr_db"] for proof in proofs if proof is not None)
        sqnr.setdefault(place, []).extend(number for number in found if number is not None)
    return {place: (_size(bytes_.get(place)), _sqnr(sqnr[place])) for place in sqnr}


def _size(several: Sequence[int] | None) -> str:
    if not several:
        return ""
    return size(several[0]) if len(several) == 1 else sizes((min(several), max(several)))


def _sqnr(several: Sequence[float]) -> str:
    return f"{min(several):.1f} dB" if several else ""


def _failures(came: Sequence[Came]) -> Iterator[str]:
    failed = [one for one in came if one.how == "failed"]
    for one in failed[:MOST_FAILURES]:
        at = f" {span(one.at)}:" if one.at else ""
        yield f"- {span(one.name)}:{at} {span(one.said, MOST_SAID)}\n"
    left = len(failed) - MOST_FAILURES
    if left > 0:
        yield f"- … and {left:,} more\n"
