"""Samples in processes of their own: the user's Python, equal bytes, and memory."""

from __future__ import annotations

import os
import shutil
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.e2e.local import Said, run_entry
from tests.graphs import model
from tests.sampled import ONE, PARAMS, X, save
from tests.working import written

FEEDS = """
import numpy as np

def feeds():
    for number in range(1, 4):
        yield {"x": number * np.asarray([[1.0, -2.0, 3.0, 0.5]], np.float32)}
"""


def user_feeds(
    folder: Path,
    code: str,
    needs: Mapping[str, bytes] | None = None,
    *,
    requirements: str | None = None,
    env: Mapping[str, str] | None = None,
    **params: Any,
) -> Said:
    for name, data in {"r/feeds.py": code.encode(), **(needs or {})}.items():
        path = folder / "in" / "needs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    inputs: tuple[str, ...] = ("needs",)
    if requirements is not None:
        (folder / "in" / "requirements").mkdir(parents=True)
        (folder / "in" / "requirements" / "req.txt").write_text(requirements)
        inputs = ("needs", "requirements")
    return run_entry(
        folder,
        "qnnbuild.work.user_feeds:user_feeds",
        {"file": "r/feeds.py", "function": "feeds", "axes": {}, "at_most": None, **params},
        inputs=inputs,
        outputs=("feeds",),
        env=env,
    )


def collect(folder: Path, call: str = "qnnbuild.work.samples_files:collect", **params: Any) -> Said:
    there = tuple(name for name in ("model", "files", "feeds") if (folder / "in" / name).exists())
    return run_entry(
        folder,
        call,
        {**PARAMS, **params},
        inputs=there,
        outputs=("feeds", "report"),
    )


def first_of(said: Said, name: str = "x") -> list[float]:
    """The first number of each sample."""
    found = []
    for path in sorted((said.folder / "out" / "feeds").iterdir()):
        with np.load(path) as data:
            found.append(float(data[name].ravel()[0]))
    return found


# --- the user's Python ------------------------------------------------------------------------


def test_what_a_function_yields_becomes_checked_samples(tmp_path):
    said = user_feeds(tmp_path / "feeds", FEEDS)
    written(ONE, tmp_path / "run" / "in" / "model")
    shutil.copytree(tmp_path / "feeds/out/feeds", tmp_path / "run/in/feeds")
    collected = collect(tmp_path / "run", patterns=[])

    assert said.message is None, said.log
    assert said.made() == ["feeds/000000.npz", "feeds/000001.npz", "feeds/000002.npz"]
    assert collected.message is None, collected.log
    assert first_of(collected) == [1, 2, 3]


def test_it_sees_its_needs_its_neighbours_and_the_axes_that_it_asks_for(tmp_path):
    code = """
        import numpy as np
        from reading import read

        def feeds(seconds, other=None):
            yield {"x": np.asarray([float(seconds), *read("data/a.txt")])}
    """
    needs = {
        "r/reading.py": b"def read(path): return [float(n) for n in open(path)]",
        "r/data/a.txt": b"1\n2\n",
    }

    said = user_feeds(tmp_path, _dedented(code), needs, axes={"seconds": "10", "language": "zh"})

    assert said.message is None, said.log
    assert first_of(said) == [10]


def test_it_starts_from_the_same_random_numbers_and_sees_nothing_else(tmp_path):
    code = """
        import os, random
        import numpy as np

        def feeds():
            print("SEES", sorted(os.environ))
            while True:
                yield {"x": np.random.rand(4), "n": np.asarray(random.random())}
    """
    one = user_feeds(tmp_path / "1", _dedented(code), at_most=3, env={"SECRET": "x"})
    two = user_feeds(tmp_path / "2", _dedented(code), at_most=3)

    assert one.message is None, one.log
    assert "SECRET" not in one.log
    assert [one.read(n) for n in one.made()] == [two.read(n) for n in two.made()]
    assert len(one.made()) == 3


@pytest.mark.parametrize(
    ("code", "message", "hint"),
    [
        (
            "def feed(): pass",
            "'feeds.py' has no function 'feeds'",
            "its functions: feed",
        ),
        (
            "def feeds():\n    return {'x': [1]}",
            "feeds() gives one dict, many samples are wanted",
            "yield {'x': array}",
        ),
        (
            "def feeds(seconds):\n    yield {'x': [1]}",
            "feeds() wants 'seconds', which is no axis of this graph",
            "axes: none",
        ),
        (
            "def feeds():\n    yield {'x': [1]}\n    yield [1]",
            "sample 1 is list, a dict is wanted",
            "yield {'x': array} with the names of the graph's inputs",
        ),
        (
            "def feeds():\n    yield {'x': ['a']}",
            "sample 0: 'x' is <U1, no numbers",
            None,
        ),
        (
            "def feeds():\n    yield {'x': [1 / 0]}",
            "feeds.py:2: ZeroDivisionError: division by zero",
            None,
        ),
        (
            "def feeds(:",
            "feeds.py:1: SyntaxError: invalid syntax (feeds.py, line 1)",
            None,
        ),
        (
            "import no_such_thing",
            "feeds.py:1: No module named 'no_such_thing'",
            "list it with its version: python: {requirements: …}; a file of yours: needs: […]",
        ),
        (
            "def feeds():\n    return []",
            "feeds() of 'r/feeds.py' yields no sample",
            None,
        ),
        (
            "import os\nos._exit(3)",
            "'r/feeds.py' ended with exit code 3",
            "its whole output is in the log",
        ),
    ],
)  # fmt: skip
def test_what_goes_wrong_is_told_with_its_line(tmp_path, code, message, hint):
    said = user_feeds(tmp_path, code)

    assert (said.message, said.hint) == (message, hint), said.log
    assert said.place == "samples.python"


def test_requirements_make_an_environment_that_has_to_have_numpy(tmp_path):
    env = {"PIP_NO_INDEX": "1", "QNNBUILD_ENVS": str(tmp_path / "envs")}

    empty = user_feeds(tmp_path / "1", FEEDS, requirements="", env=env)
    loose = user_feeds(tmp_path / "2", FEEDS, requirements="numpy", env=env)

    assert empty.message == "feeds.py: No module named 'numpy'"
    assert empty.place == "samples.python"
    assert loose.message == "req.txt leaves open what gets installed"
    assert loose.place == "samples.python.requirements"


# --- bytes ------------------------------------------------------------------------------------


def test_two_processes_write_the_same_bytes(tmp_path):
    made = []
    for name in ("one", "another/place"):
        written(ONE, tmp_path / name / "in/model")
        save(tmp_path / name / "in/files/calib/a.npz", x=np.stack([X, 2 * X]))
        collect(tmp_path / name, random=1)
        out = tmp_path / name / "out"
        made.append({p.relative_to(out): p.read_bytes() for p in out.rglob("*") if p.is_file()})

    assert len(made[0]) == 4
    assert made[0] == made[1]


# --- memory -----------------------------------------------------------------------------------

ELEMENTS = 1 << 19
"""Of one sample: 2 MB."""

LARGE = model(f"g (float[{ELEMENTS}] x) => (float[{ELEMENTS}] y) {{ y = Relu (x) }}")
RAMP = np.linspace(-1, 1, ELEMENTS, dtype=np.float32)


def one_packed_file(folder: Path, count: int) -> None:
    numbers = np.arange(count, dtype=np.float32)[:, None]
    np.savez_compressed(folder / "all.npz", x=np.sign(RAMP)[None] + numbers)


def one_plain_file(folder: Path, count: int) -> None:
    with (folder / "all.npy").open("wb") as file:
        shape = (count, ELEMENTS)
        header = {"descr": "<f4", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        for number in range(count):
            file.write((RAMP + number).tobytes())


def many_files(folder: Path, count: int) -> None:
    np.savez(folder / "000.npz", x=RAMP)
    for number in range(1, count):
        os.link(folder / "000.npz", folder / f"{number:03}.npz")


def nothing(folder: Path, count: int) -> None:
    folder.rmdir()


@pytest.mark.slow(seconds=30)
@pytest.mark.parametrize(
    ("make", "params"),
    [
        (one_packed_file, {}),
        (one_plain_file, {}),
        (many_files, {}),
        (nothing, {"patterns": [], "random": 1}),
    ],
)
def test_memory_does_not_grow_with_the_number_of_samples(tmp_path, make, params):
    peaks = []
    for count in (10, 200):
        folder = tmp_path / str(count)
        (folder / "in/files/calib").mkdir(parents=True)
        written(LARGE, folder / "in/model")
        make(folder / "in/files/calib", count)
        if "random" in params:
            params["random"] = count
            (folder / "in/files").rmdir()
        said = collect(folder, "tests.e2e.measured:collect", **params)
        assert said.message is None, said.log
        assert len(said.made()) == count + 1
        peaks.append(int((folder / "peak_kb").read_text()) >> 10)
        shutil.rmtree(folder)

    # 190 samples more are 380 MB; what one sample takes is less than 40
    assert peaks[1] - peaks[0] < 20, peaks


def _dedented(code: str) -> str:
    return textwrap.dedent(code)
