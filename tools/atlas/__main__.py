"""Measure the atlas; write docs/atlas.json, docs/operators.md and what the package takes of them.

`python -m tools.atlas`: all. `--page`: only the page, out of the data. `--rates`: the rates, out of
the data and of the real models that the store of this repo has prepared.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tools.atlas import assemble, rates, table
from tools.atlas.compiling import Compiler
from tools.atlas.measure import ALONE, all_cases, generations, measure_all, soc_models
from tools.atlas.zoo import models_at_hand

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
    yield {"what": "the documentation alone", "of": f"{len(rows)} cases", "cpu": listed(documented)}
    told = rates.of_atlas(cases, rows, archs)
    fused = rates.of_atlas_fusions(cases, rows, arch)
    yield {
        "what": "the prediction, on the atlas itself", "of": f"{len(rows)} cases",
        "cpu": listed(told), "fusions": listed(fused),
    }  # fmt: skip
    yield from _of_zoo(arch)


def _of_zoo(arch: int) -> Iterator[dict[str, Any]]:
    compiler = Compiler()
    cpu, fusions, nodes = rates.Rate(), rates.Rate(), 0
    for name, path in models_at_hand():
        sys.stderr.write(f"{name}\n")
        try:
            found = rates.of_model(name, path, compiler, soc_models()[ALONE], arch)
        except ValueError as error:
            sys.stderr.write(f"{error}\n")
            continue
        yield {
            "what": name, "of": f"{found.nodes} nodes", "cpu": listed(found.cpu),
            "fusions": listed(found.fusions),
        }  # fmt: skip
        cpu, fusions, nodes = cpu + found.cpu, fusions + found.fusions, nodes + found.nodes
    yield {
        "what": "all real models", "of": f"{nodes} nodes", "cpu": listed(cpu),
        "fusions": listed(fusions),
    }  # fmt: skip


def listed(rate: rates.Rate) -> list[int]:
    return [rate.hits, rate.false_alarms, rate.missed, rate.right_to_be_silent]


if __name__ == "__main__":
    main()
