"""Limits that hold: memory, time and disk of a real build."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.hogs import Hogs

pytestmark = pytest.mark.long_file(seconds=30)


@pytest.fixture(scope="module")
def hogs(tmp_path_factory: pytest.TempPathFactory) -> Hogs:
    """Four models whose last run took 200 MB, and a little for Python: all at once, unlimited."""
    made = Hogs.make(tmp_path_factory.mktemp("hogs"), 4)
    done = made.build("-n", "4", env={"QNNBUILD_MEMORY": "off"}, megabytes=200, meet=4)
    assert (done.code, done.summary, made.most_at_once(), done.err) == (0, "made 4", 4, "")
    return made


def test_as_many_run_at_once_as_memory_lasts_for(hogs: Hogs) -> None:
    done = hogs.build("-n", "4", "-a", env={"QNNBUILD_MEMORY": "600 MB"}, megabytes=200, meet=2)

    assert (done.code, done.summary) == (0, "cut off 4")
    assert hogs.most_at_once() == 2
    assert "warning: fewer actions run at once than could: there is no memory for more" in done.err


def test_what_wants_more_than_there_is_runs_alone_and_says_so(hogs: Hogs) -> None:
    done = hogs.build("-n", "4", "-a", env={"QNNBUILD_MEMORY": "100 MB"})

    assert done.code == 0
    assert hogs.most_at_once() == 1
    assert done.err.count("may want more memory than there is; it runs alone") == 1


def test_one_is_stopped_when_memory_nearly_ends_and_runs_later(tmp_path: Path) -> None:
    hogs = Hogs.make(tmp_path, 2)
    limited = {"QNNBUILD_MEMORY": "600 MB"}  # what never ran is thought to take 200 MB
    done = hogs.build("-n", "2", env=limited, megabytes=350, meet=2, outlive=1)

    assert done.code == 0, done.out + done.err
    stopped = re.findall(r"memory nearly ended: export/(\S+) was stopped and runs again", done.err)
    # doit says who is started first, and a unit test that it is the other one which is stopped
    (young,) = stopped
    (old,) = {"h0", "h1"} - {young}
    assert sorted(hogs.log()[:2]) == ["+ h0", "+ h1"]
    assert hogs.log()[2:] == [f"- {old}", f"+ {young}", f"- {young}"]


def test_after_the_deadline_nothing_starts_and_nothing_is_lost(hogs: Hogs) -> None:
    late = hogs.build("-c", "-a", env={"QNNBUILD_DEADLINE": "0 s"})
    ran = hogs.log()
    after = hogs.build()

    assert (late.code, late.summary, ran) == (7, "stopped: not built 4", [])
    assert late.out.count("error: the build's deadline of 0.0 s is over: nothing more starts") == 1
    assert (after.code, after.summary) == (0, "nothing to do: reused 4")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    argv = ["mount", "-t", "tmpfs", "-o", "size=15m", "none", str(folder)]
    try:
        subprocess.run(argv, check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_disk_that_is_too_small_is_refused_before_the_work(
    tmp_path: Path, small_disk: Path
) -> None:
    hogs = Hogs.make(tmp_path, 3, floats=700_000, QNNBUILD_STORE=str(small_disk / "store"))
    made = hogs.build()
    path = hogs.repo.root / "recipes" / "hog.py"
    path.write_text(path.read_text() + "# other bytes\n")
    refused = hogs.build("-c")

    assert (made.code, made.summary) == (0, "made 3"), made.out + made.err
    assert (refused.code, refused.summary) == (6, "stopped: not built 3"), refused.out
    assert "error: the store's disk has too little room; nothing was started" in refused.out
    assert refused.out.count("needed:") == 1
    assert hogs.log() == []
