"""kill -9 while the gate puts bundles back: what it says then is true, and nothing is made."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from qnnbuild.engine import gate
from qnnbuild.engine.gate import Looked
from qnnbuild.engine.gate_file import Landed
from qnnbuild.engine.gate_restore import restore
from tests.laws.counts import chance, runs
from tests.unit.engine.fake_world import FakeWorld, action, make_all, ran, runner_of
from tests.unit.engine.restorable import ENDS, TICK_S, keep

REPO = Path(__file__).resolve().parents[2]
BUNDLES = [action(f"bundle/{n:02}", "a.txt", lands=f"m/{n:02}") for n in range(40)]
LARGE = 300_000

RESTORES = """
import sys
from pathlib import Path
from qnnbuild.engine import gate
from qnnbuild.engine.gate_restore import restore
seen = gate.look(Path(sys.argv[1]))
print(len(seen.touched), flush=True)
print(len(restore(seen)), seen.is_shut)
"""


def build(world: FakeWorld, *, shut: bool = True) -> tuple[dict[str, str], list[str]]:
    """Build, and once more to shut the gate; what came back, and what ran."""
    seen = gate.look(world.root)
    builder = world.open(*BUNDLES)
    builder.store.sweep()
    for one in BUNDLES:
        runner_of(builder).makes[one.name] = lambda text: text.ljust(LARGE, ".")
    hows = make_all(builder)
    builder.finish()
    (world.root / ENDS[1]).write_text("a report")
    names = [one.name for one in BUNDLES]
    looked = Looked(
        name="m", recipe="recipes/m.yaml", names=names, saved_s=1.0, ran=bool(ran(builder)),
        files=[path for name in names for part in builder.paths(name) for path in part],
        landed=[Landed(o.name, str(o.lands), builder.record(o.name).key) for o in BUNDLES],
    )  # fmt: skip
    keep(world.root, seen, [looked], world.root / ".qnnbuild")
    world.close()
    world.opened.clear()
    if shut:
        time.sleep(TICK_S)
        build(world, shut=False)
    return hows, ran(builder)


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeWorld:
    monkeypatch.delenv("QNNBUILD_TRUST", raising=False)
    world = FakeWorld(tmp_path / "repo")
    (world.root / "recipes").mkdir(parents=True)
    (world.root / "recipes" / "m.yaml").write_text("m")
    world.write(a_txt="a")
    for _ in range(2):
        time.sleep(TICK_S)
        build(world)
    return world


def shipped(world: FakeWorld) -> dict[str, bytes]:
    """All files of the bundles, hidden ones too."""
    top = world.root / "build" / "m"
    return {str(p.relative_to(top)): p.read_bytes() for p in top.rglob("*") if p.is_file()}


def restoring(world: FakeWorld) -> subprocess.Popen[str]:
    """A process that has just begun to put all of build/ back."""
    shutil.rmtree(world.root / "build")
    argv = [sys.executable, "-c", RESTORES, str(world.root)]
    going = subprocess.Popen(argv, cwd=REPO, stdout=subprocess.PIPE, text=True)
    assert going.stdout is not None
    assert going.stdout.readline() == "1\n"
    return going


def test_a_kill_while_the_gate_restores_leaves_nothing_untrue(built: FakeWorld) -> None:
    clean = shipped(built)
    undisturbed = restoring(built)
    began = time.monotonic()
    told, _ = undisturbed.communicate()
    whole = time.monotonic() - began
    assert told == f"{len(BUNDLES)} True\n"
    assert shipped(built) == clean
    chosen, kills, partly = chance("gate restore"), 0, 0
    for number in range(runs(3, 200)):
        going = restoring(built)
        time.sleep(chosen.uniform(0.0, 1.0) * whole)
        going.kill()
        with going:
            kills += going.wait() == -signal.SIGKILL
        partly += 0 < len(shipped(built)) < len(BUNDLES)

        seen = gate.look(built.root)
        restore(seen, must_shut=True)
        if seen.is_shut:
            assert shipped(built) == clean, number
            assert list((built.root / ".qnnbuild" / "tmp").iterdir()) == [], number
        hows, made = build(built)
        assert shipped(built) == clean, number
        assert made == [], number
        assert set(hows.values()) <= {"restored"}, (number, hows)
        assert gate.look(built.root).is_shut, number
        assert list((built.root / ".qnnbuild" / "tmp").iterdir()) == [], number
    assert kills > 0
    assert runs(0, 1) == 0 or partly > 0
