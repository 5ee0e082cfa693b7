"""The folder that asks a phone: built, and run with a stand-in for adb and the phone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.npz import read_npz, write_npz
from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.e2e.small_repo import Done
from tests.standin.lay_out import lay_out_adb, turn

pytestmark = pytest.mark.slow(seconds=50)

SENSE = """\
model: sense
license: MIT
toolchain: qairt-2.40
chips: [SM8750]
source: {file: "../models/6.onnx"}
graphs:
  model:
    inputs: {prompt: {dtype: int32}}
    precision: w8a16
    calibration: {random: 2}
    options: {qairt: {htp: {perf_profile: burst, rpc_control_latency: 200}}}
    verify: {on_device: true}
"""
PAIR = """\
model: pair
license: MIT
toolchain: qairt-2.40
chips: [SM8750]
context: {share_weights: graphs}
graphs:
  enc:
    source: {file: "../models/6.onnx"}
    precision: fp16
  joint-step:
    source: {file: "../models/10.onnx"}
    precision: fp16
    verify: {on_device: true, chips: none}
"""
SKEL = "libQnnHtpV79Skel.so"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SdkRepo:
    repo = sdk_repo(tmp_path_factory.mktemp("phone"))
    repo.write("recipes/sense.yaml", SENSE)
    repo.write("recipes/pair.yaml", PAIR)
    done = repo.doit()
    assert (done.code, done.err) == (0, "")
    return repo


@pytest.fixture
def folder(built: SdkRepo, tmp_path: Path) -> Path:
    """A copy to change something in."""
    return shutil.copytree(built.root / "build/on-device/sense/SM8750/model", tmp_path / "folder")


def run(built: SdkRepo, folder: Path, *words: str, **env: str) -> Done:
    """As a user does, who has neither this repo nor the SDK."""
    adb = lay_out_adb(folder.parent, built.old)
    known = {"PATH": os.environ["PATH"], **env}
    done = subprocess.run(
        [sys.executable, folder / "run_on_phone.py", "--adb", adb, *words], cwd=folder.parent,
        env=known, text=True, capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def verified(built: SdkRepo) -> dict[str, Any]:
    text = (built.root / "build/sense/SM8750/manifest.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["graphs"]["model"]["verified"]
    return found


def test_the_folder_has_all_that_the_phone_needs_and_is_not_published(built: SdkRepo):
    where = built.root / "build/on-device/sense/SM8750/model"
    index = json.loads((built.root / "build/index.json").read_text(encoding="utf-8"))

    assert {path.name for path in where.iterdir() if path.is_file()} == {
        *("README.md", "phone.json", "run_on_phone.py", "input_list.txt", "model.bin"),
        *("qnn-net-run", "libQnnHtp.so", "libQnnSystem.so", "libQnnHtpNetRunExtensions.so"),
        *("libQnnHtpV79Stub.so", SKEL, "htp_config.json", "htp_backend_extensions.json"),
    }
    assert not any("on-device" in path for path in index["published"])
    assert "on-device" not in (built.root / "build/sense/SM8750/manifest.json").read_text()
    assert "Not to be passed on" in (where / "README.md").read_text(encoding="utf-8")
    config = json.loads((where / "htp_config.json").read_text(encoding="utf-8"))
    assert config["devices"][0]["cores"][0]["perf_profile"] == "burst"
    there = "/data/local/tmp/qnnbuild/sense-SM8750-model"
    assert (where / "input_list.txt").read_text().splitlines()[0] == (
        f"x:={there}/inputs/000000-0.raw prompt:={there}/inputs/000000-1.raw"
    )
    command = json.loads((where / "phone.json").read_text(encoding="utf-8"))["command"]
    assert f'export ADSP_LIBRARY_PATH="{there}${{ADSP_LIBRARY_PATH:+;$ADSP_LIBRARY_PATH}}"' in (
        command
    )


def test_the_phones_verdict_is_the_builds(built: SdkRepo, folder: Path):
    done = run(built, folder)
    judged = json.loads((folder / "results/verdict.json").read_text(encoding="utf-8"))
    told = verified(built)

    assert done.code == 0, done.err
    assert done.out.splitlines()[0] == (
        f"logits: SQNR {told['outputs']['logits']['sqnr_db']:.1f} dB, at least 20 dB wanted: holds"
    )
    same = ("outputs", "bars", "binary", "samples", "compared_with", "sdk_build")
    assert {name: judged[name] for name in same} == {name: told[name] for name in same}
    assert judged["ran_on"]["host"] == "SM8750"
    assert not (folder.parent / "phone/qnnbuild/sense-SM8750-model").exists()


def test_a_changed_expectation_is_told_as_the_build_tells_it(built: SdkRepo, folder: Path):
    for file in (folder / "expected").iterdir():
        file.chmod(0o644)
        write_npz(file, {name: -array for name, array in read_npz(file).items()})

    done = run(built, folder)

    assert done.code == 1
    assert "error: 'model' on SM8750 is below its bar: logits: SQNR -6." in done.out
    assert "  logits: SQNR -6." in done.out


def test_answers_that_the_phone_gets_wrong_are_told(built: SdkRepo, folder: Path):
    turn(built.old, "qnn-net-run", "wrong")
    wrong = run(built, folder)
    turn(built.old, "qnn-net-run", "nothing")
    nothing = run(built, folder)
    turn(built.old, "qnn-net-run", "segfault")
    dead = run(built, folder)
    turn(built.old, "qnn-net-run", None)

    assert (wrong.code, nothing.code, dead.code) == (1, 1, 1)
    assert "is below its bar: logits: SQNR -5.4 dB" in wrong.out
    assert "no answer for 'logits'; it wrote none" in nothing.err
    assert "qnn-net-run ended with exit code 139" in dead.err
    assert "by hand: adb shell 'cd /data/local/tmp/qnnbuild/sense-SM8750-model && " in dead.err


def test_a_skel_that_is_not_here_is_told_with_what_the_phone_would_say(
    built: SdkRepo, folder: Path
):
    (folder / SKEL).unlink()

    done = run(built, folder)

    assert done.code == 1
    assert f"{SKEL} is not here: 4000, 14001 and 1008 mean" in done.err


def test_a_skel_that_the_phone_does_not_find_is_told_with_what_to_do(built: SdkRepo, folder: Path):
    """A : between the folders makes one folder of them, which is not there."""
    told = folder / "phone.json"
    told.chmod(0o644)
    text = told.read_text(encoding="utf-8")
    told.write_text(text.replace('ADSP_LIBRARY_PATH=\\"', 'ADSP_LIBRARY_PATH=\\"/vendor:'), "utf-8")

    done = run(built, folder)

    assert done.code == 1
    assert "Transport layer setup failed: 14001" in done.err
    assert f"found no skel that it could load: {SKEL} of the very same SDK" in done.err
    assert "whose folders stand apart by ;" in done.err


def test_files_that_were_changed_and_phones_that_are_not_there_are_told(
    built: SdkRepo, folder: Path
):
    none = run(built, folder, QNNSTANDIN_PHONE="none")
    strange = run(built, folder, "--serial", "other")
    shy = run(built, folder, QNNSTANDIN_PHONE="unauthorized")
    other = run(built, folder, QNNSTANDIN_CHIP="SM8650")
    (folder / "model.bin").chmod(0o644)
    (folder / "model.bin").write_bytes(b"other")
    changed = run(built, folder)

    assert "no devices/emulators found" in none.err
    assert "device 'other' not found" in strange.err
    assert "adb sees no phone that is ready: unauthorized" in shy.err
    assert "the phone says that it is SM8650; the binary is for SM8750" in other.out
    assert "model.bin is not the file that was made" in changed.err


def test_a_binary_with_shared_weights_runs_on_the_phone_as_it_ships(built: SdkRepo, tmp_path: Path):
    """No host can: there each graph is run as compiled alone, and this one not at all."""
    where = built.root / "build/on-device/pair/SM8750/joint-step"
    told = json.loads((where / "phone.json").read_text(encoding="utf-8"))
    copy = shutil.copytree(where, tmp_path / "folder")

    done = run(built, copy)

    assert "--input_list __,input_list.txt" in told["command"]
    assert (done.code, done.err) == (0, "")
    assert not (where.parent / "enc").exists()
    answers = read_npz(copy / "results/answers/000000.npz")["logits"]
    expected = read_npz(copy / "expected/000000.npz")["logits"]
    assert np.abs(answers - expected).max() < 0.01


def test_a_second_run_makes_nothing_and_a_bar_only_the_folder_and_the_verdict(built: SdkRepo):
    again = built.doit()
    built.write("recipes/sense.yaml", SENSE.replace("true}", "true, min_sqnr_db: 25}"))
    bar = built.doit()
    built.write("recipes/sense.yaml", SENSE)

    assert again.ran == []
    assert sorted(name.partition("/")[0] for name in bar.ran) == ["bundle", "on-device", "verdict"]
