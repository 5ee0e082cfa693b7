"""Chips of a repo's own: new ones, other names for known ones, and measured facts put right."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.model.chip_rows import OWN_CHIP, Reader, Row
from qnnbuild.model.chips import Chips, chip_of, complete, first_of_its_name, says_of_itself
from qnnbuild.model.recipe import Chip

ARCHS = (68, 69, 73, 75, 79, 81, 85)
MEASURED = ("soc_model", "arch", "vtcm_mb", "hvx_threads", "fp16", "bf16", "reads_back_as")
ADDED = ("marketing", "kernel_ids", "tags")


def with_own_chips(chips: Chips, text: str, file: str = "chips.yaml") -> Chips:
    """The table with what a repo's chips.yaml says. Raises RecipeError with all that is wrong.

    A row may name a new chip, give another name to a soc_model that is known (its facts are then
    those of that chip), or add names and tags to a known chip. Facts that contradict the table
    need `overrides: true`.
    """
    reader, top = Reader.of(text, file)
    rows = dict(chips.rows)
    own: dict[str, Chip] = {}
    for key, key_node, section in reader.entries(top, "chips.yaml"):
        if key != "chips":
            reader.wrong(key_node, f"chips.yaml has no key '{key}'", hint="its key: chips")
            continue
        for node in reader.items(section, "chips"):
            row = reader.row(node, OWN_CHIP, "a chip")
            chip = _own_chip(reader, row, chips)
            if chip and first_of_its_name(reader, row, own):
                own[chip.name] = rows[chip.name] = chip
    reader.raise_problems()
    return replace(chips, rows=rows)


def _own_chip(reader: Reader, row: Row, chips: Chips) -> Chip | None:
    name = row.values.get("name")
    if not isinstance(name, str):
        if "name" not in row.places:
            reader.problems.append(Problem(message="a chip lacks name", at=row.at))
        return None
    overrides = bool(row.values.get("overrides", False))
    values = {key: value for key, value in row.values.items() if key != "overrides"}
    before = len(reader.problems)
    _check(reader, row, chips)
    known = chips.get(name)
    sibling = _sibling(values, known, chips)
    if not overrides:
        _contradictions(reader, row, known or sibling)
        _refusal(reader, row, chips)
    if len(reader.problems) > before:
        return None
    if known:
        return _amended(known, values, sibling, reader.file)
    if sibling:
        values = _facts_of(sibling) | values
    if not complete(reader, row if not sibling else Row(at=row.at, values=values, places={})):
        return None
    return chip_of({"seen": f"{reader.file} of the repo", **values})


def _check(reader: Reader, row: Row, chips: Chips) -> None:
    arch = row.values.get("arch")
    if arch is not None and arch not in ARCHS:
        reader.problems.append(
            Problem(
                message=f"no chip has HTP arch {arch}",
                at=row.place("arch"),
                hint=f"known: {', '.join(map(str, ARCHS))}",
            )
        )
    name = str(row.values["name"])
    known = chips.get(name)
    if known and known.name != name:
        message = f"'{name}' is written '{known.name}' in the table"
        reader.problems.append(Problem(message=message, at=row.place("name")))


def _sibling(values: Mapping[str, Any], known: Chip | None, chips: Chips) -> Chip | None:
    """The chip of the table that owns the soc_model that this row gives, if it is another one."""
    soc_model = values.get("soc_model")
    if known and soc_model in {None, known.soc_model}:
        return None
    owners = chips.by_soc_model(soc_model) if isinstance(soc_model, int) else ()
    return owners[0] if owners else None


def _contradictions(reader: Reader, row: Row, other: Chip | None) -> None:
    if other is None:
        return
    for key in MEASURED:
        if key not in row.values or row.values[key] == getattr(other, key):
            continue
        written, fact = _shown(row.values[key]), _shown(getattr(other, key))
        reader.problems.append(
            Problem(
                message=f"the {key} of '{row.values['name']}' contradicts the table",
                at=row.place(key),
                facts=(("written", written), (f"table, {other.name}", fact)),
                hint="to put a measured fact right, add 'overrides: true' to this chip",
            )
        )


def _refusal(reader: Reader, row: Row, chips: Chips) -> None:
    name, soc_model = str(row.values["name"]), row.values.get("soc_model")
    by_name = {chip.name.casefold(): chip.why for chip in chips.refused}
    why = by_name.get(name.casefold())
    key = "name"
    if why is None and isinstance(soc_model, int):
        why, key = chips.refusal(soc_model), "soc_model"
    if why:
        reader.problems.append(
            Problem(
                message=f"'{row.values[key]}' cannot be built for: {why}",
                at=row.place(key),
                hint="if you have seen it work, add 'overrides: true' to this chip",
            )
        )


def _amended(known: Chip, values: Mapping[str, Any], sibling: Chip | None, file: str) -> Chip:
    changed = {key: value for key, value in values.items() if key != "name"}
    if sibling:  # the soc_model alone decides what is compiled: the facts are those of the new one
        changed = _facts_of(sibling) | changed
    measured = [key for key in MEASURED if key in changed and changed[key] != getattr(known, key)]
    if measured and "seen" not in values:
        changed["seen"] = f"{known.seen}. {', '.join(measured)}: {file} of the repo"
    for key in ADDED:
        added = (*getattr(known, key), *values.get(key, ()))
        changed[key] = tuple(dict.fromkeys(added))
    return replace(known, **changed)


def _facts_of(sibling: Chip) -> dict[str, Any]:
    facts = {f.name: getattr(sibling, f.name) for f in fields(sibling) if f.name in MEASURED}
    return facts | {"reads_back_as": _told_by(sibling)}


def _told_by(sibling: Chip) -> Mapping[str, Any]:
    return dict(sibling.reads_back_as) | {"soc_type": says_of_itself(sibling)["soc_type"]}


def _shown(fact: object) -> str:
    if isinstance(fact, bool):
        return "true" if fact else "false"
    return str(dict(fact)) if isinstance(fact, Mapping) else str(fact)
