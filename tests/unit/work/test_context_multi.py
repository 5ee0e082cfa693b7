"""What a binary for several chips is held against, and what is told of it. The sample is real."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.formats.multi_chip import MultiChip, read_multi_chip
from qnnbuild.work import context_multi
from qnnbuild.work.context_multi import Made
from qnnbuild.work.run import Run, WorkError
from tests.unit.formats.samples import sample

NAMES = {69: "SM8750", 57: "SM8650", 43: "SM8550"}
ARCHS = {69: 79, 57: 75, 43: 73}


@pytest.fixture
def three() -> MultiChip:
    return read_multi_chip(memoryview(sample("three_chips.bin")))


def asked(*soc_models: int, **changed: Any) -> list[dict[str, Any]]:
    return [
        {
            "name": NAMES[number],
            "soc_model": number,
            "reads_back": {"soc_type": NAMES[number], "arch": ARCHS[number], **changed},
        }
        for number in soc_models
    ]


def test_a_record_for_each_chip_in_the_order_asked_for_is_right(three: MultiChip):
    context_multi._check_chips(three, asked(69, 57, 43))


@pytest.mark.parametrize("others", [(69, 57), (57, 69, 43), (69, 57, 57)])
def test_other_chips_than_those_asked_for_are_told(three: MultiChip, others: tuple[int, ...]):
    with pytest.raises(WorkError) as caught:
        context_multi._check_chips(three, asked(*others))

    assert caught.value.message == "the binary is for other chips than those asked for"
    assert caught.value.exit_code == 5
    assert caught.value.facts == (("soc_models", f"[69, 57, 43], asked for {list(others)}"),)


def test_a_vtcm_that_was_not_heard_is_told(three: MultiChip):
    with pytest.raises(WorkError) as caught:
        context_multi._check_chips(three, asked(69, 57, 43, vtcm_mb=4))

    assert caught.value.message == "the record for SM8750 is for another chip"
    assert caught.value.facts == (("vtcm_mb", "8, asked for 4"),)


def told(three: MultiChip, *, alone: int, ours: int) -> list[str]:
    """What is warned of when each single binary has `alone` bytes and this one `ours`."""
    run = Run(params={"chips": asked(69, 57, 43)}, inputs={}, outputs={})
    made = Made(ctx=None, binary=three, files=(Path("m.bin"),))  # type: ignore[arg-type]  # unread
    context_multi._tell_what_is_saved(run, made, dict.fromkeys(NAMES.values(), alone), ours)
    return [notice.message for notice in run.warnings]


def test_a_file_that_saves_something_is_no_news(three: MultiChip):
    assert told(three, alone=200_000, ours=321_000) == []


def test_a_file_larger_than_the_single_ones_is_told(three: MultiChip):
    assert told(three, alone=100_000, ours=321_000) == [
        "one binary for 3 chips takes 321,000 bytes, single ones 300,000"
    ]


def test_a_chip_with_weights_of_its_own_is_told(three: MultiChip):
    chips = (*three.chips[:2], replace(three.chips[2], own_weights=155_392))

    assert told(replace(three, chips=chips), alone=200_000, ours=321_000) == [
        "SM8550 shares hardly any weights with the other chips"
    ]
