"""A world for the builder's tests, a repo for those of inputs."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.engine import gate
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from tests.unit.engine.fake_world import FakeWorld
from tests.unit.engine.restorable import Restorable, restorable


@pytest.fixture
def world(tmp_path: Path):
    here = FakeWorld(tmp_path)
    here.write(a_txt="a", b_txt="b")
    yield here
    here.close()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    (tmp_path / "repo").mkdir()
    return tmp_path / "repo"


@pytest.fixture
def inputs(repo: Path, tmp_path: Path):
    records = Records(tmp_path / "records.db", "here")
    yield Inputs(repo, Stats(), records)
    records.close()


@pytest.fixture
def built(world, monkeypatch: pytest.MonkeyPatch) -> Restorable:
    monkeypatch.delenv("QNNBUILD_TRUST", raising=False)
    monkeypatch.setattr(gate, "own_files", lambda: iter(()))  # others may edit the package now
    return restorable(world)
