"""Bundles come back from both ends where build/ is gone."""

from __future__ import annotations

import shutil

import pytest

from qnnbuild.engine.builder import Builder
from qnnbuild.engine.putting_back import PuttingBack, put_back
from qnnbuild.engine.state import Current
from tests.unit.engine.fake_world import CHAIN, action, artifact, make_all, ran

BUNDLES = [action(f"bundle/{n}", "context/m", lands=f"m/{n}") for n in range(6)]
PLAN = (*CHAIN[:3], *BUNDLES)
NAMES = [one.name for one in BUNDLES]


@pytest.fixture
def gone(world):
    """All was built, and build/ was deleted."""
    before = world.open(*PLAN)
    make_all(before)
    before.finish()
    shutil.rmtree(world.root / "build")
    return world


def begun(builder: Builder) -> PuttingBack:
    putting = builder.putting_back = put_back(builder, tuple(builder.plan.actions))
    assert putting is not None
    return putting


def there(world) -> list[str]:
    return sorted(path.parent.name for path in (world.root / "build").rglob("o.txt"))


def test_all_come_back_and_each_is_told_as_restored(gone):
    builder = gone.open(*PLAN)
    begun(builder)
    hows = {name: builder.make(name).how for name in NAMES}
    builder.finish()

    assert hows == dict.fromkeys(NAMES, "restored")
    assert there(gone) == [str(n) for n in range(6)]
    assert ran(builder) == []
    assert list((builder.store.root / "tmp").iterdir()) == []


def test_what_came_back_before_the_build_asked_is_told_as_restored(gone):
    builder = gone.open(*PLAN)
    putting = begun(builder)
    putting._thread.join()
    assert there(gone) == [str(n) for n in range(6)]
    states = [builder.state(name) for name in NAMES]
    hows = [builder.make(name).how for name in NAMES]

    assert not any(isinstance(state, Current) for state in states)
    assert hows == ["restored"] * 6


def test_an_artifact_that_is_gone_is_the_builds_to_make(gone):
    builder = gone.open(*PLAN)
    path = artifact(builder, "bundle/5")
    begun(builder)._thread.join()
    shutil.rmtree(gone.root / "build")
    path.unlink()
    again = gone.open(*PLAN)
    begun(again)
    hows = [again.make(name).how for name in NAMES]

    assert hows[:5] == ["restored"] * 5
    assert hows[5] == "cut off"
    assert there(gone) == [str(n) for n in range(6)]


def test_a_build_that_is_stopped_leaves_no_thread(gone):
    builder = gone.open(*PLAN)
    putting = begun(builder)
    putting.end()

    assert not putting._thread.is_alive()


def test_where_build_stands_nothing_is_put_back(gone):
    (gone.root / "build").mkdir()

    assert put_back(gone.open(*PLAN), NAMES) is None


def test_where_nothing_was_built_there_is_nothing_to_put_back(world):
    assert put_back(world.open(*PLAN), NAMES) is None


def test_one_bundle_is_the_builds_alone(gone):
    assert put_back(gone.open(*PLAN), ["context/m", "bundle/1"]) is None
