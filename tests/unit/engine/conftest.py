"""A world for the builder's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.engine.fake_world import FakeWorld


@pytest.fixture
def world(tmp_path: Path):
    here = FakeWorld(tmp_path)
    here.write(a_txt="a", b_txt="b")
    yield here
    here.close()
