"""kill -9 between any two writes: the next build is correct, and what was paid for is kept."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.laws.world import Node, World, from_scratch

pytestmark = pytest.mark.long_file(seconds=60)

REPO = Path(__file__).resolve().parents[2]
NODES = (
    Node("s", ("a", "b")),
    Node("t", ((0, "o"), "c")),
    Node("s", ("a", "b")),  # the same work under another name
    Node("u", ((1, "p"), (2, "o"))),
)
SOURCES = {"a": "1", "b": "2", "c": "3"}


def run(folder: Path, deadly: int) -> subprocess.CompletedProcess[str]:
    plan = json.dumps([[node.salt, node.takes] for node in NODES])
    return subprocess.run(
        [sys.executable, "-m", "tests.laws.killed", str(folder), plan, str(deadly)],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.fixture(scope="module")
def changes(tmp_path_factory: pytest.TempPathFactory) -> int:
    """How often an undisturbed build changes the disk."""
    folder = tmp_path_factory.mktemp("whole")
    World(folder).write(SOURCES)
    whole = run(folder, 0)
    assert whole.returncode == 0, whole.stderr
    return int(whole.stdout.splitlines()[-1])  # behind what doit told


def test_a_build_killed_at_any_change_of_the_disk_is_completed_by_the_next(
    changes: int, tmp_path: Path
) -> None:
    seed = random.Random(7)
    points = sorted(seed.sample(range(1, changes + 1), min(changes, 40)))
    for point in points:
        folder = tmp_path / str(point)
        folder.mkdir()
        world = World(folder)
        world.write(SOURCES)
        killed = run(folder, point)
        assert killed.returncode == -9, (point, killed.stderr)
        paid_for = len(world.ran())
        world.build(NODES)
        world.workers.close()

        assert world.made(NODES) == from_scratch(NODES, SOURCES), point
        # an action that ran is lost at most when the kill fell between its end and its record
        assert len(world.ran()) <= 3 + min(paid_for, 2), point
        assert list((folder / ".qnnbuild" / "tmp").iterdir()) == [], point
