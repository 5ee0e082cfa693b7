"""What Qualcomm's SDK compiled is run on the host before it ships, on the stand-in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.npz import Array, read_npz
from tests.e2e.sdk_repo import SdkRepo, sdk_repo, spoilt
from tests.standin.lay_out import HOST, turn

pytestmark = pytest.mark.slow(seconds=70)

RECIPE = """\
model: sense
license: Apache-2.0
toolchain: qairt-2.40
chips: [SM8750]
source: {file: "../models/6.onnx"}
graphs:
  model:
    inputs: {prompt: {dtype: int32}}
    precision: w8a16
    calibration: {random: 2}
"""
CONTEXT, VERIFY = "context/sense/model@SM8750", "verify/sense/model@SM8750"
NET_RUN = (
    "libQnnHtp.so --retrieve_context in/context/model.bin --input_list input_list.txt "
    "--output_dir results --config_file htp/htp_backend_extensions.json "
    "--use_native_input_files --use_native_output_files"
)


def repo(folder: Path) -> SdkRepo:
    made = sdk_repo(folder)
    made.write("recipes/sense.yaml", RECIPE)
    return made


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> SdkRepo:
    """A binary, which each test runs with another tool: what fails leaves nothing behind."""
    made = repo(tmp_path_factory.mktemp("compiled"))
    assert made.doit(CONTEXT).code == 0
    return made


@pytest.fixture(scope="module")
def verified(tmp_path_factory: pytest.TempPathFactory) -> SdkRepo:
    made = repo(tmp_path_factory.mktemp("verified"))
    done = made.doit()
    assert (done.code, done.err) == (0, "")
    return made


def made_by(where: SdkRepo, action: str, output: str, folder: Path) -> Path:
    """The .npz files of an action's output, out of the store."""
    record = json.loads(where.qnnbuild("show", action, "--json").out)["record"]
    folder.mkdir()
    for file, (digest, _) in record["outputs"][output]["files"].items():
        (stored,) = (Path(where.env["QNNBUILD_STORE"]) / "artifacts").rglob(f"*{digest[2:]}*")
        shutil.copyfile(stored, folder / Path(file).name)
    return folder


def graph_of(where: SdkRepo) -> dict[str, Any]:
    text = (where.root / "build/sense/SM8750/manifest.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)["graphs"]["model"]
    return found


def test_the_numbers_are_those_that_the_types_at_the_border_make(verified: SdkRepo, tmp_path: Path):
    """x is channel-last in the binary; the model itself is computed in floats by the stand-in."""
    graph = graph_of(verified)
    (x, _), (logits,) = graph["context"]["inputs"], graph["context"]["outputs"]
    feeds = made_by(verified, "samples/sense/model", "feeds", tmp_path / "feeds")
    answers = made_by(verified, VERIFY, "outputs", tmp_path / "answers")
    weights = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    signal = noise = 0.0

    for file in sorted(feeds.glob("*.npz")):
        fed, answered = read_npz(file), read_npz(answers / file.name)["logits"]
        wanted = (fed["x"] + fed["prompt"].astype(np.float32)) @ weights
        seen = through(fed["x"], x) + fed["prompt"].astype(np.float32)
        expected = through((seen @ weights).astype(np.float32), logits)
        assert np.abs(answered - expected).max() <= logits["scale"] * 1.01
        signal += float(np.sum(wanted.astype(np.float64) ** 2))
        noise += float(np.sum((answered.astype(np.float64) - wanted) ** 2))

    assert (x["order"], x["shape"], logits["order"]) == ([0, 2, 1], [1, 8, 6], [0, 1, 2])
    told = graph["verified"]["outputs"]["logits"]["sqnr_db"]
    assert told == pytest.approx(10 * np.log10(signal / noise), abs=0.01)
    assert told > 80


def through(array: Array, tensor: dict[str, Any]) -> Array:
    steps = np.clip(np.rint(array / tensor["scale"]) - tensor["offset"], 0, 65535)
    seen: Array = ((steps + tensor["offset"]) * tensor["scale"]).astype(np.float32)
    return seen


def test_manifest_and_card_tell_what_was_run_and_how_it_was_judged(verified: SdkRepo):
    told = graph_of(verified)["verified"]

    assert (told["on"], told["alone"], told["samples"]) == ("SM8750", False, 2)
    assert told["ran_on"]["host"] == "HTP emulator"
    assert told["chip"] == {"soc_model": 69, "soc_type": None, "arch": 79}
    (bar,) = told["bars"]
    assert (bar["what"], bar["bar"], bar["holds"]) == ("min_sqnr_db", 20.0, True)
    card = (verified.root / "build/sense/SM8750/README.md").read_text(encoding="utf-8")
    assert "run on the host's emulator of the chip" in card


def test_another_bar_is_another_verdict_and_runs_nothing(verified: SdkRepo):
    recipe = verified.root / "recipes/sense.yaml"
    recipe.write_text(RECIPE + "    verify: {min_sqnr_db: 140}\n", encoding="utf-8")

    done = verified.doit()
    recipe.write_text(RECIPE, encoding="utf-8")

    assert done.ran == []
    assert "'model' on SM8750 is below its bar: logits: SQNR" in done.out
    assert "recipes/sense.yaml:11:27" in done.out
    assert "hint: it has fewer bits than its bar wants" in done.out


def test_its_layers_are_not_to_be_had_and_who_asks_is_told(verified: SdkRepo):
    done = verified.qnnbuild("debug", VERIFY)

    assert done.code != 0
    assert "the layers of context/sense/model@SM8750 cannot be looked at" in done.err


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("segfault", "qnn-net-run failed with signal 11"),
        ("execution", "qnn-net-run ended well and said: Graph Execution failure"),
        ("nothing", "qnn-net-run ended well and wrote no Result_0"),
        ("short", "qnn-net-run wrote 47 bytes for the output 'logits', which has 48"),
    ],
)
def test_a_run_that_fails_is_told_with_its_last_lines_and_its_command(
    compiled: SdkRepo, how: str, said: str
):
    turn(compiled.old, "qnn-net-run", how)

    done = compiled.doit(VERIFY)
    turn(compiled.old, "qnn-net-run", None)

    told = done.out + done.err
    assert done.code != 0
    assert said in told
    assert "last lines" in told
    assert NET_RUN in " ".join(told.split())
    assert "LD_LIBRARY_PATH=" in told
    assert "recipes/sense.yaml:" in told


@pytest.mark.parametrize(
    ("add", "drop", "said"),
    [
        (["--model", "m.so"], [], "Exactly one of --model and --retrieve_context must be given"),
        (["--input_list", "gone.txt"], [], "Cannot open input list file: gone.txt"),
        ([], ["--input_list"], "Missing option: --input_list"),
        (["--fast"], [], "Unused Arguments --fast"),
    ],
)
def test_what_the_tool_refuses_is_told_in_its_own_words(
    compiled: SdkRepo, add: list[str], drop: list[str], said: str
):
    tool = compiled.old / f"bin/{HOST}/qnn-net-run"
    with spoilt(tool, add=add, drop=drop):
        done = compiled.doit(VERIFY)

    assert done.code == 4
    assert "qnn-net-run failed with exit code 1" in done.out
    assert said in done.out
    assert f"qnnbuild shell {VERIFY}" in done.out


def test_wrong_answers_do_not_ship_and_may_be_a_known_failure(tmp_path: Path):
    made = repo(tmp_path)
    turn(made.old, "qnn-net-run", "wrong")

    wrong = made.doit()
    known = RECIPE.replace("graphs:", 'expect_failure: {reason: "signs"}\ngraphs:')
    made.write("recipes/sense.yaml", known)
    fails = made.doit()
    turn(made.old, "qnn-net-run", "unmarked")
    made.write("recipes/sense.yaml", known.replace('"signs"', '"it turns signs"'))
    works = made.doit()

    assert "'model' on SM8750 is below its bar: logits: SQNR -5.4 dB" in wrong.out
    assert not (made.root / "build/sense").exists()
    assert (fails.code, fails.ran) == (0, ["expect/sense/model@SM8750"])
    assert "is known to fail, and works now" in works.out
