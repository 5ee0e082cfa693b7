"""All benchmarks one after the other, and docs/performance.md with its plots made of them.

    python bench/performance.py [cold growth noop restore] [--quick]
    python bench/performance.py --page          # only the page, of docs/performance.json

A quarter of an hour on two cores that do nothing else. Figures of parts that are not named stay
as they are. --quick measures small sizes once: whether the programs work, and nothing that should
be kept.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import cold
import growth
import noop
import restore
from measuring import REPO, Row, tell
from performance_page import DATA, PAGE, PLOTS, page, plots

CHIPS = 32
SIZES = (10, 50, 200)
"""Models of the graph of files: of 100 actions each."""

PAYLOADS = (256_000, 4_000_000)
"""Bytes of a binary of a few layers, and of one of the size that most of the zoo's have."""

PACKAGES = ("doit", "onnxruntime", "onnxruntime-qnn")


def measured(part: str, top: Path, *, quick: bool) -> Iterator[Row]:
    rounds = 1 if quick else 3
    parts: Mapping[str, Callable[[], Iterator[Row]]] = {
        noop.PART: lambda: _noop(top, SIZES[:1] if quick else SIZES, rounds),
        restore.PART: lambda: _restore(top, 40 if quick else 1000, rounds),
        growth.PART: lambda: growth.rows(top, [1000] if quick else [1000, 10_000, 100_000]),
        cold.PART: lambda: cold.rows(
            top, cold.KINDS[:1] if quick else cold.KINDS, rounds, os.cpu_count() or 1
        ),
    }
    yield from parts[part]()


def _told(part: str, top: Path, *, quick: bool) -> list[dict[str, Any]]:
    return [tell(row).as_json() for row in measured(part, top, quick=quick)]


def _noop(top: Path, sizes: tuple[int, ...], rounds: int) -> Iterator[Row]:
    for models in sizes:
        yield from noop.rows(top / str(models), models, CHIPS, rounds)


def _restore(top: Path, bundles: int, rounds: int) -> Iterator[Row]:
    for size in PAYLOADS:
        yield from restore.rows(top / str(size), bundles, size, rounds)


def machine() -> dict[str, Any]:
    """What the figures hold for."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "day": datetime.now(UTC).date().isoformat(),
        "cores": os.cpu_count(),
        "memory_gb": round(memory / 1e9),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    # noop and restore remove a hundred thousand files at their end, and for minutes after that
    # ext4 takes longer over each new one: what makes many comes before them
    known = [cold.PART, growth.PART, noop.PART, restore.PART]
    parser.add_argument("parts", nargs="*", default=known, metavar="PART", help=", ".join(known))
    parser.add_argument("--quick", action="store_true", help="whether it works; writes nothing")
    parser.add_argument("--page", action="store_true", help="measure nothing")
    asked = parser.parse_args()
    told: dict[str, Any] = json.loads(DATA.read_text()) if DATA.exists() else {"parts": {}}
    for part in () if asked.page else asked.parts:
        with tempfile.TemporaryDirectory(prefix=f"{part}-") as top:
            where = Path(top).resolve() / "of"
            where.mkdir()
            # a process that held large models would lend its peak of memory to all that it starts
            with ProcessPoolExecutor(1, get_context("spawn")) as alone:
                found = alone.submit(_told, part, where, quick=asked.quick).result()
        told["parts"][part] = {"machine": machine(), "rows": found}
        if not asked.quick:
            DATA.write_text(json.dumps(told, indent=1) + "\n")
    if not asked.quick:
        PAGE.write_text(page(told), encoding="utf-8")
        plots(told, PLOTS)
        print(PAGE.relative_to(REPO))


if __name__ == "__main__":
    main()
