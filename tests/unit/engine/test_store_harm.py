"""Artifacts that a disk changed, or that went, between a look and a copy."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Gone, Store
from qnnbuild.errors import StoreError
from tests.unit.engine.test_store import DATA, DIGEST, add


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store", Stats())


def test_an_artifact_that_went_away_is_no_copy(store, tmp_path):
    with pytest.raises(Gone):
        store.copy(DIGEST, tmp_path / "copy")


def test_a_copy_of_a_damaged_artifact_is_none_although_no_time_tells(store, tmp_path):
    add(store)
    path = store.path(DIGEST)
    change_silently(store, path, DATA[::-1])
    believed = store.whole(DIGEST, len(DATA))
    with pytest.raises(Gone):
        store.copy(DIGEST, tmp_path / "copy")

    assert believed
    assert not (tmp_path / "copy").exists()
    assert not path.exists()


def test_what_is_read_of_a_damaged_artifact_is_told(store):
    add(store)
    change_silently(store, store.path(DIGEST), DATA[::-1])
    with pytest.raises(StoreError) as caught:
        store.read(DIGEST)

    (problem,) = caught.value.problems
    assert problem.message == "an artifact in the store is damaged or gone"
    assert problem.hint == "run the build again: what is missing is made again"


def change_silently(store: Store, path: Path, data: bytes) -> None:
    """As a disk does it: what is remembered of the file fits what is there."""
    path.chmod(0o644)
    path.write_bytes(data)
    store.stats.know(path, DIGEST)
