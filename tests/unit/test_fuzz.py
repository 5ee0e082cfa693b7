"""The targets of `make fuzz` begin with inputs that they read, and live through spoiled ones."""

from __future__ import annotations

import random
from itertools import islice

import pytest

from fuzz.targets import targets

SPOILED = 12
LARGEST = 1 << 17
"""Larger inputs are for the fuzzer alone."""


def spoiled(seed: bytes, dice: random.Random) -> bytes:
    data = bytearray(seed)
    for _ in range(dice.randint(1, 4)):
        at = dice.randrange(len(data) + 1)
        how = dice.randrange(4)
        if how == 0:
            data[at : at + 1] = bytes([dice.randrange(256)])
        elif how == 1:
            del data[at : at + dice.randrange(64)]
        elif how == 2:
            data[at:at] = dice.randbytes(4)
        else:
            data[at : at + 8] = b"\xff" * dice.choice((1, 2, 4, 8))
    return bytes(data)


@pytest.mark.parametrize("name", sorted(targets()))
def test_a_target_reads_its_seeds_and_what_is_near_them(name: str):
    target = targets()[name]
    dice = random.Random(name)
    seeds = [seed for seed in target.seeds() if len(seed) <= min(LARGEST, target.most_bytes)]
    dice.shuffle(seeds)
    for seed in islice(seeds, 4):
        target.reads(seed)
        for _ in range(SPOILED // 4):
            target.reads(spoiled(seed, dice))

    assert list(target.seeds())
