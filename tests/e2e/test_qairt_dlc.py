"""Qualcomm's SDK over a DLC, on the stand-in: its own tools, and DLCs of the real plugin."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.e2e.small_repo import Done
from tests.standin.lay_out import turn

pytestmark = pytest.mark.slow(seconds=170)

RECIPE = """\
model: sense
license: Apache-2.0
toolchain: {toolchain}
chips: [{chips}]
source: {{file: "../models/6.onnx"}}
graphs:
  model-6:
    inputs: {{x: {{dtype: float32, layout: NTF}}, prompt: {{dtype: int32}}}}
    outputs: [logits]
    {precision}
    options: {{qairt: {{route: {route}{options}}}}}
    {verify}
"""
NOT_RUN = "verify: {chips: none}"
"""The stand-in knows of the plugin's DLC what it describes, and can compute nothing."""
W8A16 = "precision: w8a16\n    calibration: {random: 2}"
CHIPS = "SM8550, SM8750"
ONE = "context/sense/model-6@SM8750"
PYTHON_PACKAGE = "lib/python/qti/aisw/standin"


def write(
    repo: SdkRepo,
    *,
    route: str = "dlc",
    precision: str = W8A16,
    options: str = "",
    verify: str = "",
    chips: str = CHIPS,
    toolchain: str = "qairt-2.40",
) -> None:
    text = RECIPE.format(
        route=route,
        precision=precision,
        options=options,
        verify=verify,
        chips=chips,
        toolchain=toolchain,
    )
    repo.write("recipes/sense.yaml", text)


def steps(done: Done) -> dict[str, int]:
    return dict(Counter(name.partition("/")[0] for name in done.ran))


def facts_of(repo: SdkRepo, chip: str = "SM8750") -> dict[str, Any]:
    text = (repo.root / f"build/sense/{chip}/manifest.json").read_text()
    found: dict[str, Any] = json.loads(text)["graphs"]["model-6"]
    return found


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, Done]:
    repo = sdk_repo(tmp_path_factory.mktemp("dlc"))
    write(repo)
    return repo, repo.doit()


def test_two_chips_are_one_convert_one_quantizing_and_two_contexts(built):
    _, done = built

    assert done.code == 0, done.err
    assert {name: steps(done)[name] for name in ("dlc", "convert", "context", "bundle")} == {
        "dlc": 1,
        "convert": 1,
        "context": 2,
        "bundle": 2,
    }
    assert "library" not in steps(done)


def test_the_binary_has_the_layouts_of_the_source_and_the_name_of_the_dlc(built):
    repo, _ = built

    told = facts_of(repo)

    assert told["context"]["graph"] == "model_6"
    assert told["context"]["settings"]["O"] == 3
    assert [(one["name"], one["dtype"], one["shape"]) for one in told["context"]["inputs"]] == [
        ("x", "uint16", [1, 6, 8]),
        ("prompt", "int32", [8]),
    ]
    assert told["quantization"]["samples"] == 2
    assert told["quantization"]["by"] == "qairt-quantizer"
    assert told["sdk"]["graph"] == "model_6"
    assert told["sdk"]["quantizer"][:2] == ["--input_dlc", "model_6.dlc"]
    assert told["verified"]["outputs"]["logits"]["sqnr_db"] > 30


def test_a_second_run_runs_nothing_and_another_chip_one_context(built):
    repo, _ = built

    again = repo.doit()
    write(repo, chips=f"{CHIPS}, SM8650")
    added = repo.doit()
    write(repo)

    assert again.ran == []
    assert steps(added) == {"context": 1, "verify": 1, "verdict": 1, "bundle": 1}


def test_another_width_or_sample_quantizes_again_and_converts_nothing(built):
    repo, _ = built

    write(repo, precision=W8A16.replace("random: 2", "random: 3"))
    sample = repo.doit()
    write(repo, precision="precision: w8a8\n    calibration: {random: 2}")
    width = repo.doit()
    write(repo)

    assert sample.code == width.code == 0, width.err
    assert "dlc" not in steps(sample)
    assert "dlc" not in steps(width)
    assert steps(width)["convert"] == 1


def test_floats_are_converted_by_one_action(tmp_path: Path):
    repo = sdk_repo(tmp_path)
    write(repo, precision="precision: fp16", toolchain="qairt-2.49")

    done = repo.doit()

    assert done.code == 0, done.err
    assert {name: steps(done)[name] for name in ("convert", "context")} == {
        "convert": 1,
        "context": 2,
    }
    assert "dlc" not in steps(done)
    assert facts_of(repo)["context"]["inputs"][0]["dtype"] == "float16"


# --- the plugin's DLC -------------------------------------------------------------------------


def test_a_dlc_of_the_plugin_is_compiled_by_the_sdk(tmp_path: Path):
    """The real plugin writes it; its graph has the name that the plugin gave it."""
    repo = sdk_repo(tmp_path)
    write(repo, route="ort-dlc", options=", htp: {O: 2}", verify=NOT_RUN)

    done = repo.doit()

    assert done.code == 0, done.err
    assert {name: steps(done)[name] for name in ("convert", "dlc", "context")} == {
        "convert": 1,
        "dlc": 1,
        "context": 2,
    }
    told = facts_of(repo)
    assert told["context"]["graph"].startswith("QNNExecutionProvider_")
    assert told["context"]["settings"]["O"] == 2
    assert sorted(one["name"] for one in told["context"]["inputs"]) == ["prompt", "x"]
    assert "is newer than the SDK" in done.out + done.err
    assert repo.doit().ran == []


EXCUSED = "verify: {outputs: {logits: {excused: nothing here can compute it}}}"


def test_what_was_compiled_of_the_plugins_dlc_is_run_by_its_own_name(tmp_path: Path):
    repo = sdk_repo(tmp_path)
    turn(repo.old, "qnn-net-run", "zeros")
    write(repo, route="ort-dlc", verify=EXCUSED, chips="SM8750")

    done = repo.doit()

    assert done.code == 0, done.err
    assert steps(done)["verify"] == 1
    told = facts_of(repo)
    assert told["verified"]["on"] == "SM8750"
    assert told["sdk"] == {"route": "ort-dlc", "graph": told["context"]["graph"]}


PAIR = """\
model: pair
license: MIT
toolchain: qairt-2.49
chips: [SM8750]
context: {share_weights: graphs}
graphs:
  enc:
    source: {file: "../models/6.onnx"}
    precision: w8a16
    calibration: {random: 2}
    verify: {chips: none}
    options: {qairt: {route: ort-dlc, htp: {O: 2}}}
  joint-step:
    source: {file: "../models/10.onnx"}
    precision: fp16
    verify: {chips: none}
    options: {qairt: {route: %s, htp: {vtcm_mb: 4}}}
"""


@pytest.mark.parametrize("route", ["ort-dlc", "dlc"])
def test_dlcs_share_weights_each_with_its_own_name_and_settings(tmp_path: Path, route: str):
    repo = sdk_repo(tmp_path)
    repo.write("recipes/sense.yaml", PAIR % route)

    done = repo.doit()
    graphs = json.loads((repo.root / "build/pair/SM8750/manifest.json").read_text())["graphs"]

    assert done.code == 0, done.err
    told = [(c["context"]["settings"]["O"], c["context"]["chip"]["vtcm_mb"]) for c in (
        graphs["enc"], graphs["joint-step"])]  # fmt: skip
    assert told == [(2, 8), (3, 4)]
    assert len(set(graphs["enc"]["context"]["graphs_in_binary"])) == 2


def test_a_library_and_a_dlc_are_no_one_binary(tmp_path: Path):
    repo = sdk_repo(tmp_path)
    repo.write("recipes/sense.yaml", PAIR % "cpp")

    done = repo.qnnbuild("check")

    assert "libraries and DLCs cannot be compiled into one binary" in done.out + done.err


# --- what goes wrong --------------------------------------------------------------------------

CONVERTER = (
    "qairt-converter --input_network in/model/model.onnx --output_path out/model/model_6.dlc "
    "--out_tensor_node logits --source_model_input_datatype x float32 "
    "--source_model_input_datatype prompt int32 --source_model_input_layout x NTF"
)
QUANTIZER = (
    "qairt-quantizer --input_dlc in/model/model_6.dlc --output_dlc out/model/model_6.dlc "
    "--input_list input_list.txt --use_native_input_files --act_bitwidth 16 --weights_bitwidth 8 "
    "--bias_bitwidth 32"
)
GENERATOR = (
    "libQnnModelDlc.so --dlc_path in/model/model_6.dlc --output_dir out/context "
    "--binary_file model-6 --config_file htp/htp_backend_extensions.json"
)


@pytest.fixture
def fresh(tmp_path: Path) -> SdkRepo:
    repo = sdk_repo(tmp_path)
    write(repo)
    return repo


def patched(repo: SdkRepo, module: str, old: str, new: str) -> None:
    path = repo.old / PYTHON_PACKAGE / f"{module}.py"
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_a_zero_without_a_dlc_is_an_error_with_the_command(fresh: SdkRepo):
    turn(fresh.old, "qairt-converter", "no-dlc")

    done = fresh.doit("dlc/sense/model-6")
    told = " ".join((done.out + done.err).split())

    assert done.code != 0
    assert "qairt-converter ended well and did not write model_6.dlc" in told
    assert "INFO_CONVERSION_SUCCESS" in told
    assert CONVERTER in told
    assert "recipes/sense.yaml:" in told


def test_a_graph_of_another_name_is_told_before_a_chip_comes_in(fresh: SdkRepo):
    patched(fresh, "dlc_converter", "model, path.stem,", 'model, path.stem + "_fp32",')

    done = fresh.doit("dlc/sense/model-6")

    assert "the graph in model_6.dlc is called 'model_6_fp32'" in done.out + done.err


def test_an_input_that_was_laid_out_otherwise_is_told(fresh: SdkRepo):
    patched(fresh, "dlc_converter", "keep_layout=[],", "keep_layout=None,")
    text = (fresh.root / "recipes/sense.yaml").read_text()
    fresh.write("recipes/sense.yaml", text.replace(", layout: NTF", ""))

    done = fresh.doit("dlc/sense/model-6")
    told = done.out + done.err

    assert "the converter gave the input 'x' other sizes" in told
    assert "[1, 8, 6]" in told


def test_a_quantizer_that_fails_is_told_with_its_last_lines_and_its_command(fresh: SdkRepo):
    patched(fresh, "dlc_quantizer", "model = dlc_file.read(source)", 'raise RefusedError("no RAM")')

    done = fresh.doit("convert/sense/model-6+w8a16")
    told = " ".join((done.out + done.err).split())

    assert "qairt-quantizer failed with exit code 1" in told
    assert "ERROR - no RAM" in told
    assert QUANTIZER in told


def test_the_compile_of_a_dlc_is_told_with_its_command(fresh: SdkRepo):
    turn(fresh.old, "qnn-context-binary-generator", "finalize")

    done = fresh.doit(ONE)

    assert GENERATOR in " ".join((done.out + done.err).split())


def test_settings_that_did_not_count_are_an_error(fresh: SdkRepo):
    patched(fresh, "context_generator", 'model.meta["graph"], Bound()', '"other", Bound()')

    done = fresh.doit(ONE)

    assert "settings did not count" in done.out + done.err


def test_quantizing_that_changed_no_type_is_warned_of(fresh: SdkRepo):
    patched(fresh, "dlc_quantizer", "        quantizing.calibrate(", "        (lambda *_: 0)(")

    done = fresh.doit("convert/sense/model-6+w8a16")

    assert done.code == 0, done.err
    assert "left the types of all inputs and outputs as they were" in done.out + done.err


def test_a_dlc_of_another_form_is_taken_and_the_binary_tells(fresh: SdkRepo):
    """What the SDK's own tools write nobody describes; the plugin's DLCs can be read."""
    patched(fresh, "dlc_file", 'b"NETD"', 'b"NETX"')

    done = fresh.doit(ONE)

    assert done.code == 0, done.err
    assert "is of a form that cannot be read here" in done.out + done.err


@pytest.mark.parametrize(
    ("recipe", "said"),
    [
        (
            {"options": ", converter: {onnx_no_simplification: true}"},
            "onnx_no_simplification is called onnx_skip_simplification",
        ),
        ({"options": ", quantizer: {algorithm: cle}"}, "did you mean 'apply_algorithms'?"),
        ({"options": ", library: {targets: [aarch64-android]}"}, "there is no part 'library'"),
        ({"route": "dcl"}, "did you mean 'dlc'?"),
        ({"precision": "precision: w8a16"}, "calibration"),
        (
            {"options": ", converter: {remove_unused_inputs: true}"},
            "remove_unused_inputs came with 2.45; the SDK is 2.40",
        ),
    ],
)
def test_mistakes_are_told_before_anything_runs(fresh: SdkRepo, recipe: dict[str, str], said: str):
    write(fresh, **recipe)

    done = fresh.qnnbuild("check")

    assert done.code != 0
    assert said in done.out + done.err
