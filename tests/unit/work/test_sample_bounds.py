"""Samples that a line of a recipe asks for, and that no memory or disk holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qnnbuild.work.pictures import pixels, recipe_of
from qnnbuild.work.run import WorkError
from qnnbuild.work.sample_borders import Border
from qnnbuild.work.samples_files import _check_random

LARGE = Border(name="x", dtype=np.dtype(np.float32), shape=(1, 3, 4096, 4096))


def test_random_samples_that_fill_a_disk_are_told_before_the_first():
    with pytest.raises(WorkError) as caught:
        _check_random({"random": 1_000_000, "at_most": None}, (LARGE,))

    assert caught.value.message == (
        "1,000,000 random samples of 201,326,592 bytes are 201,326,592,000,000 bytes"
    )
    assert caught.value.place == "samples.random"


def test_an_image_that_is_to_be_made_too_large_is_told(tmp_path: Path):
    Image.new("RGB", (2, 2)).save(tmp_path / "a.png")
    said = {
        "input": "x",
        "resize": [65_536, 65_536],
        "crop": None,
        "mean": [0],
        "std": [1],
        "scale": 1,
        "layout": "NCHW",
        "colour": "RGB",
    }
    with pytest.raises(WorkError) as caught:
        pixels(tmp_path / "a.png", "a.png", recipe_of(said), dimensions=4)

    assert caught.value.message == "'a.png' is to be made 65536 × 65536 pixels large"
