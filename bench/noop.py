"""How long a build of nothing takes: plain `doit` against ninja and GNU make on the same graph.

    python bench/noop.py [--models 200] [--chips 32] [--rounds 5]

Makes a repo of `models` recipes with (4 + 3 × chips) actions each, builds it once with work that
writes one small file, and has ninja and make build the same graph. Then all are measured in turn in
one run: nothing changed, one source touched, one source edited. Prints medians and ratios.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from measuring import Row, medians, tell
from same_graph import Repo

PART = "noop"
NINJA = "ninja"
GNU_MAKE = "make"
OURS = "doit"
LARGE = 10_000
"""From this size on the goals hold: below it, ninja is done before Python has begun."""

GOALS = {"nothing": 2.0, "nothing, by the gate": 1.0, "one source edited": 1.5}


def measure(repo: Repo, rounds: int) -> Iterator[Row]:
    changes: dict[str, Callable[[int, int], None]] = {
        "nothing": lambda *_: None,
        "one source touched": lambda number, _: os.utime(repo.source(number)),
        "one source edited": lambda number, turn: _edit(repo.source(number), turn),
    }
    for name, change in changes.items():
        turns = []
        for turn in range(rounds):
            change(turn, turn + 1)
            turns.append((repo.doit(), repo.ninja(), repo.make()))
            repo.settle()
        ours, ninja, make = medians(turns)
        yield _row(repo, name, ours, ninja)
        yield Row(PART, name, repo.size, ours, theirs=make, against=GNU_MAKE)
    yield from _others(repo, rounds)


def _others(repo: Repo, rounds: int) -> Iterator[Row]:
    ways: dict[str, Callable[[], float]] = {
        "nothing, by the gate": repo.gate,
        "nothing, one name": lambda: repo.doit("bundle/m001@C1"),
        "nothing, a pattern": lambda: repo.doit("bundle/*@C1"),
        "nothing, -n 2": lambda: repo.doit("-n", "2"),
        "list --all": lambda: repo.doit("list", "--all"),
    }
    for name, way in ways.items():
        ours, ninja = medians([(way(), repo.ninja()) for _ in range(rounds)])
        yield _row(repo, name, ours, ninja)


def _row(repo: Repo, name: str, ours: float, ninja: float) -> Row:
    limit = GOALS.get(name) if repo.size >= LARGE else None
    return Row(PART, name, repo.size, ours, theirs=ninja, against=NINJA, limit=limit)


def _edit(path: Path, turn: int) -> None:
    """Another first line, which `prepare` drops: its chain runs, the chips' work does not."""
    _, _, rest = path.read_text().partition("\n")
    path.write_text(f"{turn}\n{rest}")


def rows(top: Path, models: int, chips: int, rounds: int) -> Iterator[Row]:
    """A repo in `top`, built for the first time and then measured."""
    repo = Repo(top, models, chips)
    repo.write()
    first = repo.doit(), repo.ninja(), repo.make()
    yield Row(PART, "the first build", repo.size, first[0], theirs=first[1], against=NINJA)
    yield Row(PART, "the first build", repo.size, first[0], theirs=first[2], against=GNU_MAKE)
    repo.settle()
    yield from measure(repo, rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--models", type=int, default=200)
    parser.add_argument("--chips", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="noop-") as top:
        for row in rows(Path(top).resolve() / "repo", asked.models, asked.chips, asked.rounds):
            tell(row)


if __name__ == "__main__":
    main()
