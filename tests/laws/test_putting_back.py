"""kill -9 while bundles come back from both ends: the next build puts them all, and makes none."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qnnbuild.engine.state import Current
from tests.laws.counts import chance, runs
from tests.unit.engine.fake_world import (
    CHAIN,
    FakeWorld,
    action,
    make_all,
    ran,
    runner_of,
)

REPO = Path(__file__).resolve().parents[2]
BUNDLES = [action(f"bundle/{n:02}", "context/m", lands=f"m/{n:02}") for n in range(40)]
PLAN = (*CHAIN[:3], *BUNDLES)
LARGE = 300_000

RESTORES = """
import sys
from pathlib import Path
from qnnbuild.engine.putting_back import put_back
from tests.laws.test_putting_back import BUNDLES, PLAN
from tests.unit.engine.fake_world import FakeWorld
builder = FakeWorld(Path(sys.argv[1])).open(*PLAN)
builder.putting_back = put_back(builder, tuple(builder.plan.actions))
print(builder.putting_back is not None, flush=True)
for one in BUNDLES:
    builder.make(one.name)
builder.finish()
"""


@pytest.fixture
def built(tmp_path: Path) -> FakeWorld:
    world = FakeWorld(tmp_path / "repo")
    world.root.mkdir()
    world.write(a_txt="a", b_txt="b")
    builder = world.open(*PLAN)
    for one in BUNDLES:
        runner_of(builder).makes[one.name] = lambda text: text.ljust(LARGE, ".")
    make_all(builder)
    builder.finish()
    world.close()
    return world


def shipped(world: FakeWorld) -> dict[str, bytes]:
    """All files of the bundles, hidden ones too."""
    top = world.root / "build" / "m"
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


def restoring(world: FakeWorld) -> subprocess.Popen[str]:
    """A build that has just begun to put back."""
    shutil.rmtree(world.root / "build", ignore_errors=True)
    argv = [sys.executable, "-c", RESTORES, str(world.root)]
    going = subprocess.Popen(argv, cwd=REPO, stdout=subprocess.PIPE, text=True)
    assert going.stdout is not None
    assert going.stdout.readline() == "True\n"
    return going


def end(going: subprocess.Popen[str]) -> int:
    with going:
        return going.wait()


def test_a_build_killed_while_bundles_come_back_is_completed_by_the_next(built: FakeWorld) -> None:
    clean = shipped(built)
    undisturbed = restoring(built)
    began = time.monotonic()
    assert end(undisturbed) == 0
    whole = time.monotonic() - began
    assert shipped(built) == clean
    chosen, kills = chance("putting back"), 0
    for number in range(runs(3, 200)):
        going = restoring(built)
        time.sleep(chosen.uniform(0.0, 0.9) * whole)
        going.kill()
        kills += end(going) == -signal.SIGKILL

        builder = built.open(*PLAN)
        builder.store.sweep()
        hows = make_all(builder)
        builder.finish()
        assert shipped(built) == clean, number
        assert ran(builder) == [], number
        assert set(hows.values()) <= {"restored"}, (number, hows)
        assert all(isinstance(builder.state(one.name), Current) for one in PLAN), number
        assert list((builder.store.root / "tmp").iterdir()) == [], number
        built.close()
        built.opened.clear()
    assert kills > 0
