"""qnnbuild chips [WORD…]: the chips that can be built for; look one up by any of its names."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator

from qnnbuild.commands.chips_meant import looked_up
from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.digest import Json
from qnnbuild.model.chips import Chips
from qnnbuild.model.patterns import select
from qnnbuild.model.recipe import Chip
from qnnbuild.repo import open_chips


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "words",
        nargs="*",
        help="a part number, a marketing name, Android's ro.soc.model, an id, or a selector "
        "(arch>=75, @phones, SM8*)",
    )
    parser.add_argument("--json", action="store_true", help="all facts as data")


def run(args: Namespace) -> int:
    chips = open_chips()
    found: dict[str, Chip] = {}
    alone: list[Chip] = []
    for word in args.words:
        is_selector = any(c in word for c in "@*?<>=&!") or word == "fp16"
        some = select([(word, None)], chips) if is_selector else looked_up(word, chips)
        found.update((chip.name, chip) for chip in some)
        alone += () if is_selector else some
    shown = list(found.values()) if args.words else list(chips)
    if args.json:
        print_json([_data(chip) for chip in shown])
        return 0
    head = ("chip", "soc_model", "HTP", "VTCM", "HVX", "fp16", "tags", "sold as")
    print_rows([_row(chip) for chip in shown], head)
    for chip in alone:
        print(f"\n{chip.name}")
        print_rows([(f"  {what}", told) for what, told in _more(chip, chips) if told])
    return 0


def _more(chip: Chip, chips: Chips) -> Iterator[tuple[str, str]]:
    """What a table has no room for."""
    facts, notes = chips.where_from(chip)
    yield "kernel's ids", ", ".join(map(str, chip.kernel_ids))
    yield "bf16", "yes" if chip.bf16 else ""
    yield "facts from", facts
    yield "notes", notes
    yield "in a recipe", f"chips: [{chip.name}]"


def _row(chip: Chip) -> tuple[str, ...]:
    return (
        chip.name,
        str(chip.soc_model),
        f"v{chip.arch}",
        f"{chip.vtcm_mb} MB",
        str(chip.hvx_threads or "?"),
        "yes" if chip.fp16 else "no",
        ",".join(chip.tags),
        " / ".join(chip.marketing),
    )


def _data(chip: Chip) -> dict[str, Json]:
    return {
        "name": chip.name,
        "marketing": list(chip.marketing),
        "soc_model": chip.soc_model,
        "arch": chip.arch,
        "vtcm_mb": chip.vtcm_mb,
        "hvx_threads": chip.hvx_threads,
        "fp16": chip.fp16,
        "bf16": chip.bf16,
        "kernel_ids": list(chip.kernel_ids),
        "tags": list(chip.tags),
        "reads_back_as": dict(chip.reads_back_as),
        "seen": chip.seen,
    }
