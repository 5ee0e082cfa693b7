"""The program that recipes/sherpa exports with, on an archive that stands in for sherpa-onnx."""

from __future__ import annotations

import importlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.e2e.small_repo import REPO
from tests.models import write_with_side_file

FAMILIES = REPO / "recipes/sherpa/families"
NAMES = ("export", "downloads", "families", "samples")
SCRIPT = """\
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper

if sys.argv[1] == "--wav":
    name = Path(sys.argv[2]).stem
    np.arange(12, dtype=np.float32).tofile(f"{name}.raw")
    np.array([7], dtype=np.int32).tofile(f"{name}-y.raw")
    Path(f"{name}-list.txt").write_text(f"{name}.raw {name}-y.raw\\n" * 2)
else:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 4])
    y = helper.make_tensor_value_info("y", TensorProto.INT32, [1])
    z = helper.make_tensor_value_info("z", TensorProto.FLOAT, [1, 3, 4])
    cast = helper.make_node("Cast", ["y"], ["f"], to=1)
    graph = helper.make_graph([cast, helper.make_node("Add", ["x", "f"], ["z"])], "g", [x, y], [z])
    onnx.save(helper.make_model(graph), f"made-{sys.argv[1]}.onnx")
    Path("tokens.txt").write_text("a 0\\n")
"""


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(str(FAMILIES))
    for name in NAMES:
        sys.modules.pop(name, None)
    yield importlib.import_module("export")
    for name in NAMES:
        sys.modules.pop(name, None)


@pytest.fixture
def wav(tmp_path: Path) -> str:
    (tmp_path / "0.wav").write_bytes(b"RIFF")
    return (tmp_path / "0.wav").as_uri()


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: ModuleType) -> Path:
    folder = tmp_path / "top" / "sherpa-onnx-1" / "scripts" / "x"
    folder.mkdir(parents=True)
    (folder / "run.py").write_text(SCRIPT)
    path = tmp_path / "sherpa-onnx.tar.gz"
    with tarfile.open(path, "w:gz") as made:
        made.add(tmp_path / "top" / "sherpa-onnx-1", "sherpa-onnx-1")
    monkeypatch.setattr(program, "ARCHIVE", path.as_uri())
    return path


def downloads(tmp_path: Path, **more: bool) -> Any:
    module = importlib.import_module("downloads")
    return module.Downloads(tmp_path / "pins.json", **more)


def test_models_tokens_recordings_and_samples_come_out(program, archive, wav, tmp_path) -> None:
    """The raw file holds [1, 4, 3] for an input of [1, 3, 4]."""
    families = importlib.import_module("families")
    export = families.Export(
        folder="scripts/x",
        files={"0.wav": wav},
        commands=(("python", "run.py", "encoder"),),
        models={"encoder": "made-*.onnx"},
        wavs=("0.wav",),
        each=(("python", "run.py", "--wav", "{wav}"),),
        samples={"encoder": ("{name}.raw", "{name}-y.raw")},
        lists={"encoder": "{name}-list.txt"},
        orders={"encoder": {0: (0, 2, 1)}},
    )
    out = tmp_path / "out"

    program.made(export, downloads(tmp_path, pin=True), tmp_path / "work", out)
    found = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file())
    sample = np.load(out / "samples/encoder/00000.npz")

    assert found == [
        "onnx/encoder.onnx",
        *(f"samples/encoder/0000{number}.npz" for number in range(3)),
        *("test_wavs/0.wav", "tokens.txt"),
    ]
    assert (sample["y"].dtype, sample["y"].tolist()) == (np.int32, [7])
    assert sample["x"].tolist() == [[[0, 3, 6, 9], [1, 4, 7, 10], [2, 5, 8, 11]]]
    assert set(json.loads((tmp_path / "pins.json").read_text())) == {archive.as_uri(), wav}


def test_side_files_of_a_model_come_along(program, tmp_path) -> None:
    (tmp_path / "made").mkdir()
    (tmp_path / "out").mkdir()
    write_with_side_file(tmp_path / "made")

    program._take_model(tmp_path / "made", "m.onnx", tmp_path / "out" / "encoder.onnx")
    made = {path.name for path in (tmp_path / "made").iterdir()} - {"m.onnx"}

    assert made
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"encoder.onnx", *made}


def test_what_is_not_written_down_is_not_downloaded(program, wav, tmp_path) -> None:
    module = importlib.import_module("downloads")

    with pytest.raises(module.Unpinned, match=r"0\.wav has no digest in pins/pins\.json"):
        downloads(tmp_path).get(wav, tmp_path / "got.wav")


def test_what_was_written_down_and_is_another_file_now_is_an_error(program, wav, tmp_path) -> None:
    downloads(tmp_path, pin=True).get(wav, tmp_path / "got.wav")
    downloads(tmp_path).get(wav, tmp_path / "got.wav")
    (tmp_path / "0.wav").write_bytes(b"RIFX")

    with pytest.raises(SystemExit, match="is not what it was"):
        downloads(tmp_path, pin=True).get(wav, tmp_path / "got.wav")


def test_what_a_library_takes_of_the_hub_is_compared_by_its_commit(program, tmp_path) -> None:
    module = importlib.import_module("downloads")
    with pytest.raises(module.Unpinned, match="nvidia/m at abc stands not in pins"):
        downloads(tmp_path).check_commit("nvidia/m", "abc")
    downloads(tmp_path, pin=True).check_commit("nvidia/m", "abc")

    with pytest.raises(SystemExit, match="nvidia/m is at abd now"):
        downloads(tmp_path).check_commit("nvidia/m", "abd")


def test_a_raw_file_of_another_size_is_told(program, archive, tmp_path) -> None:
    samples = importlib.import_module("samples")
    subprocess.run(
        [sys.executable, "-c", SCRIPT, "m"], cwd=tmp_path, env={**os.environ}, check=True
    )
    (tmp_path / "short.raw").write_bytes(b"1234")
    made = samples.Samples(tmp_path / "made-m.onnx", tmp_path / "s", {})

    with pytest.raises(SystemExit, match=r"short\.raw holds 1 numbers for an input of"):
        made.add([tmp_path / "short.raw", tmp_path / "short.raw"])


def test_an_export_without_pins_says_what_writes_them(tmp_path: Path) -> None:
    for name in NAMES:
        shutil.copy(FAMILIES / f"{name}.py", tmp_path)
    done = subprocess.run(
        [sys.executable, "export.py", "whisper", "tiny"],
        cwd=tmp_path, text=True, capture_output=True, timeout=60, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert "python export.py --pin whisper tiny  writes it down" in done.stderr
