"""Measure the atlas; write docs/atlas.json, docs/operators.md and what the package takes of them.

`python -m tools.atlas`: all. `--page`: only the page, out of the data. `--rates`: the rates, out of
the data and of the real models that the store of this repo has prepared.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.atlas import assemble, rates, table
from tools.atlas.foretold import data_of, of_zoo
from tools.atlas.measure import ALONE, all_cases, generations, measure_all

KEPT = assemble.ROOT / ".qnnbuild" / "atlas"


def main() -> None:
    parser = ArgumentParser(prog="python -m tools.atlas", description=__doc__)
    parser.add_argument("--page", action="store_true")
    parser.add_argument("--rates", action="store_true")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where results are kept")
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    if args.page or args.rates:
        atlas = assemble.read()
    else:
        atlas = assemble.write(measure_all(args.kept, args.processes))
    if not args.page:
        atlas["rates"] = list(_rates(atlas))
        assemble.ATLAS.write_text(assemble.lines(atlas), encoding="utf-8")
    table.PAGE.write_text(table.page(atlas), encoding="utf-8")


def _rates(atlas: dict[str, Any]) -> Iterator[dict[str, Any]]:
    rows = atlas["cases"]
    cases = list(all_cases())
    archs = sorted(generations().values())
    arch = generations()[ALONE]
    documented = rates.of_documentation(rows, archs)
    yield {
        "what": "the documentation alone",
        "of": f"{len(rows)} cases",
        "cpu": documented.as_list(),
    }
    told = rates.of_atlas(cases, rows, archs)
    fused = rates.of_atlas_fusions(cases, rows, arch)
    yield {
        "what": "the prediction, on the atlas itself", "of": f"{len(rows)} cases",
        "cpu": told.as_list(), "fusions": fused.as_list(),
    }  # fmt: skip
    yield from _of_zoo()


def _of_zoo() -> Iterator[dict[str, Any]]:
    cpu, fusions, nodes = rates.Rate(), rates.Rate(), 0
    for found in of_zoo():
        yield data_of(found)
        cpu, fusions, nodes = cpu + found.cpu, fusions + found.fusions, nodes + found.nodes
    yield {
        "what": "all real models",
        "of": f"{nodes} nodes",
        "cpu": cpu.as_list(),
        "fusions": fusions.as_list(),
    }


if __name__ == "__main__":
    main()
