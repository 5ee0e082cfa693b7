"""How long build/ takes to come back out of the store, against `cp -r` of the same files.

    python bench/restore.py [--bundles 1000] [--kilobytes 256] [--rounds 5]

Nothing is compiled: the store holds all of it, and build/ was deleted. The copy is one of build/
beside it, on the same file system, and is deleted before each turn as well.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measuring import Row, medians, run, tell
from same_graph import Repo

PART = "restore"
CP = "cp -r"
CHIPS = 20


def rows(top: Path, bundles: int, size: int, rounds: int) -> Iterator[Row]:
    top.mkdir(exist_ok=True)
    repo = Repo(top / "repo", bundles // CHIPS, CHIPS, payload=size)
    repo.write()
    repo.doit()
    saved, copy = repo.top / "saved", repo.top / "copy"
    shutil.copytree(repo.top / "build", saved)
    turns = []
    for _ in range(rounds):
        repo.settle()
        shutil.rmtree(repo.top / "build")
        ours = repo.doit()
        theirs = run(["cp", "-r", str(saved), str(copy)], repo.top, repo.env).seconds
        assert _names(repo.top / "build") == _names(copy)
        shutil.rmtree(copy)
        turns.append((ours, theirs))
    ours, theirs = medians(turns)
    what = f"{bundles:,} bundles, {size // 1000:,} kB each"
    yield Row(PART, what, repo.size, ours, theirs=theirs, against=CP, limit=1.5)


def _names(top: Path) -> set[str]:
    return {str(path.relative_to(top)) for path in top.rglob("*")} - {"report.html"}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundles", type=int, default=1000)
    parser.add_argument("--kilobytes", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="restore-") as top:
        for row in rows(Path(top).resolve(), asked.bundles, asked.kilobytes * 1000, asked.rounds):
            tell(row)


if __name__ == "__main__":
    main()
