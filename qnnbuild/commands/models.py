"""qnnbuild models: what this repo builds: graphs, variants, chips, licence."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections import defaultdict
from collections.abc import Sequence

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Target
from qnnbuild.report.index import expected_failures
from qnnbuild.session import open_session


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="the models as data")


def run(args: Namespace) -> int:
    by_model: defaultdict[str, list[Target]] = defaultdict(list)
    for target in open_session().targets:
        by_model[target.model].append(target)
    if args.json:
        print_json([_data(model, targets) for model, targets in by_model.items()])
        return 0
    head = ("model", "graphs", "variants", "precision", "chips", "licence")
    print_rows([_row(model, targets) for model, targets in by_model.items()], head)
    return 0


def _row(model: str, targets: Sequence[Target]) -> tuple[str, ...]:
    first = targets[0]
    chips = _each(t.chip.name for t in targets)
    shown = ", ".join(chips[:4]) + (f", … ({len(chips)})" if len(chips) > 4 else "")
    return (
        model,
        ", ".join(_each(g.name for t in targets for g in t.graphs)),
        ", ".join(_each(t.variant for t in targets)) or "-",
        ", ".join(_each(g.precision for t in targets for g in t.graphs)),
        shown,
        first.license.spdx + ("" if first.license.redistribute else " (not published)"),
    )


def _data(model: str, targets: Sequence[Target]) -> dict[str, Json]:
    first = targets[0]
    return {
        "model": model,
        "description": first.description,
        "recipe": first.recipe,
        "graphs": list(_each(g.name for t in targets for g in t.graphs)),
        "variants": list(_each(t.variant for t in targets if t.variant)),
        "chips": list(_each(t.chip.name for t in targets)),
        "toolchains": list(_each(t.toolchain for t in targets)),
        "expected_failures": list(expected_failures(targets)),
        "license": first.license.spdx,
        "redistribute": first.license.redistribute,
    }


def _each(words: object) -> tuple[str, ...]:
    return tuple(dict.fromkeys(words))  # type: ignore[call-overload]
