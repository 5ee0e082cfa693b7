"""A family as recipes/sherpa has them, from the user's export to bundles, on the stand-in."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.e2e.small_repo import Done

pytestmark = pytest.mark.slow(seconds=30)

EXPORT = '''\
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

head, frames = sys.argv[1], int(sys.argv[2])
out = Path("out")


def save(name, steps, units):
    """[1, steps, units] times a matrix: the same bytes for the same sizes."""
    weights = np.linspace(-1, 1, units * 4, dtype=np.float32).reshape(units, 4)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, steps, units])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, steps, 4])
    node = helper.make_node("MatMul", ["x", "w"], ["y"], name="/MatMul")
    graph = helper.make_graph([node], "g", [x], [y], [numpy_helper.from_array(weights, "w")])
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), out / f"{name}.onnx")
    folder = out / "samples" / name
    folder.mkdir(parents=True)
    for number in range(2):
        made = np.random.default_rng(number).normal(size=(1, steps, units)).astype(np.float32)
        np.savez(folder / f"{number}.npz", x=made)


out.mkdir()
Path("tokens.txt").write_text("a 0\\n")
if head == "ctc":
    save("model", frames, 8)
else:
    save("encoder", frames, 8)
    save("decoder", 1, 6)
    save("joiner", 1, 4)
'''
RECIPE = """\
model: speech
license: MIT
toolchain: qairt-2.40
chips: [SM8350, SM8750]
variants: {head: [ctc, transducer], frames: [6, 10]}
leave_out: "transducer-* & !fp16"
source:
  export:
    run: [python, export.py, "{head}", "{frames}"]
    needs: export.py
    makes: "out/{graph}.onnx"
    also: [tokens.txt, "out/samples/**/*.npz"]
graphs:
  model:
    leave_out: transducer-*
    inputs: {x: {dtype: float32, layout: NTF}}
    outputs: [y]
    precision: w8a16
    calibration: {exported: "out/samples/{graph}/*.npz"}
    verify: {inputs: {exported: "out/samples/{graph}/*.npz"}}
  encoder:
    leave_out: ctc-*
    precision: w8a16
    calibration: {exported: "out/samples/{graph}/*.npz"}
    verify: {inputs: {exported: "out/samples/{graph}/*.npz"}}
  decoder: {leave_out: ctc-*, precision: fp16}
  joiner:
    leave_out: ctc-*
    precision: w8a16
    calibration: {exported: "out/samples/{graph}/*.npz"}
    verify: {inputs: {exported: "out/samples/{graph}/*.npz"}}
bundle:
  exported: tokens.txt
  info: {frames: "{frames}"}
  archives:
    context: "speech-{chip}-binary-{head}-{frames}"
    library: "speech-{head}-{frames}-{target}"
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, Done]:
    repo = sdk_repo(tmp_path_factory.mktemp("family"))
    (repo.root / "recipes/sense.yaml").unlink()
    repo.write("recipes/speech.yaml", RECIPE)
    repo.write("recipes/export.py", EXPORT)
    return repo, repo.doit()


def converted(done: Done) -> list[str]:
    return sorted(name.removeprefix("convert/speech/") for name in done.ran if "convert/" in name)


def test_a_graph_that_no_length_changes_is_converted_once_for_all_lengths(built) -> None:
    """Each length has its action; the second finds the record of the first by its key."""
    repo, done = built
    planned = json.loads(repo.qnnbuild("plan", "--json").out)

    assert done.code == 0, done.err
    assert sum(action["name"].startswith("convert/") for action in planned) == 8
    assert [name.split("/")[0] for name in converted(done)] == [
        *("decoder", "encoder", "encoder", "joiner", "model", "model")
    ]


def test_it_is_compiled_once_for_each_chip(built) -> None:
    _, done = built
    ran = Counter(name.split("/")[0] for name in done.ran)
    contexts = Counter(name.split("/")[2] for name in done.ran if name.startswith("context/"))

    assert (ran["export"], ran["library"], ran["archive"]) == (4, 6, 10)
    assert contexts == {"model": 4, "encoder": 2, "decoder": 1, "joiner": 1}


def test_each_bundle_has_the_graphs_of_its_variant(built) -> None:
    repo, _ = built
    folders = sorted(
        path.parent for path in (repo.root / "build/speech").glob("*/SM*/manifest.json")
    )
    graphs = {
        f"{folder.parent.name}@{folder.name}": sorted(json.loads(
            (folder / "manifest.json").read_text())["graphs"])
        for folder in folders
    }  # fmt: skip

    assert len(graphs) == 6
    assert {tuple(names) for name, names in graphs.items() if name.startswith("ctc")} == {
        ("model",)
    }
    assert {tuple(names) for name, names in graphs.items() if name.startswith("tran")} == {
        ("decoder", "encoder", "joiner")
    }
    assert "transducer-6@SM8350" not in graphs


def test_archives_hold_what_the_export_made_beside_the_graphs(built) -> None:
    repo, _ = built
    archives = repo.root / "build/archives"
    names = sorted(path.name for path in archives.iterdir())
    binary = "speech-SM8750-binary-transducer-6"
    with tarfile.open(archives / binary / f"{binary}.tar.bz2") as made:
        files = {Path(name).name for name in made.getnames()}
    library = "speech-transducer-6-linux-x64"
    with tarfile.open(archives / library / f"{library}.tar.bz2") as made:
        libraries = {Path(name).name for name in made.getnames()}

    assert len(names) == 6 + 4
    assert {"tokens.txt", "info.txt", "encoder.bin", "decoder.bin", "joiner.bin"} <= files
    assert {"tokens.txt", "info.txt", "libencoder.so", "libdecoder.so"} <= libraries


def test_what_is_measured_comes_from_the_export(built) -> None:
    repo, _ = built
    folder = repo.root / "build/speech/transducer-6/SM8750"
    told = json.loads((folder / "manifest.json").read_text())["graphs"]["encoder"]["quantization"]

    assert told["samples"] == 2


def test_a_second_run_runs_nothing(built) -> None:
    repo, _ = built

    assert repo.doit().ran == []


def test_files_that_the_export_did_not_make_are_told(built) -> None:
    repo, _ = built
    recipe = repo.root / "recipes/speech.yaml"
    recipe.write_text(RECIPE.replace("also: [tokens.txt", "also: [words.txt"))
    done = repo.doit("export/speech/ctc-6")
    recipe.write_text(RECIPE)
    told = done.out + done.err

    assert "the export command made nothing for 'words.txt'" in told
    assert "recipes/speech.yaml:12:" in told
