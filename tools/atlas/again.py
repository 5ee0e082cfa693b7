"""Compile a few cases anew: `python -m tools.atlas.again CHIP NAME…` prints name → what came."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from tools.atlas.compiling import Compiler
from tools.atlas.measure import all_specs, cell_of, soc_models
from tools.atlas.models import Case, Spec, case_of


def main(chip: str, names: Sequence[str]) -> None:
    from tools.atlas.compiling import on_cpu

    compiler = Compiler()
    told = {}
    for spec, form in wanted(names):
        case: Case = case_of(spec, form, on_cpu)
        made = compiler.compile(case.model.SerializeToString(), soc_models()[chip])
        cell = cell_of(case, chip, made)
        told[case.name] = {"on": cell.on, "fused": list(cell.fused)}
    sys.stdout.write("\n" + json.dumps(told) + "\n")


def wanted(names: Sequence[str]) -> list[tuple[Spec, str]]:
    """Without building any other case: to build one, its float model is run."""
    return [
        (spec, form) for spec in all_specs() for form in spec.forms if name_of(spec, form) in names
    ]


def name_of(spec: Spec, form: str) -> str:
    return ":".join(filter(None, (spec.name, spec.variant, form)))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
