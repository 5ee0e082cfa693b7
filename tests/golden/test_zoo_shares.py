"""The zoo's own plan, cut into shares: each action in one, against one job for each chip."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from qnnbuild.actions.plan import Plan
from qnnbuild.actions.shares import Shares
from qnnbuild.session import open_session

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return open_session(ROOT).plan


def test_each_action_of_the_zoo_is_in_one_share_and_needs_only_earlier_kinds(plan: Plan) -> None:
    shares = Shares.of(plan)
    count = Counter(name for names in shares.names.values() for name in names)
    where = {name: share for share, names in shares.names.items() for name in names}
    kinds = [*shares.waves]
    order = {share: kinds.index(kind) for kind, all_ in shares.waves.items() for share in all_}

    assert count == dict.fromkeys(plan.actions, 1)
    assert all(
        where[need] == where[one.name] or order[where[need]] < order[where[one.name]]
        for one in plan
        for need in one.needs()
    )


def test_the_page_has_the_figures_of_the_zoo(plan: Plan) -> None:
    shares = Shares.of(plan)
    bundles = [action.name for action in plan if action.step == "bundle"]
    chips = {chip for name in bundles for chip in chips_of(name)}
    alone = sum(
        len(plan.upto([name for name in bundles if chip in chips_of(name)])) for chip in chips
    )

    cut = f"The zoo's {len(plan):,} actions are in {len(shares.names):,} shares, each in one."
    uncut = f"One job for each of the {len(chips):,} chips, each from nothing, would run {alone:,}."
    assert f"{cut} {uncut}" in " ".join(PAGE.split())


def chips_of(bundle: str) -> list[str]:
    return bundle.rpartition("@")[2].split("+")
