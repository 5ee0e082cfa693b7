"""Qualcomm's SDK as a toolchain, on the stand-in: what a build runs, and what each failure says."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from tests.e2e.sdk_repo import CHIPS, SdkRepo, sdk_repo
from tests.e2e.small_repo import Done
from tests.standin.lay_out import lay_out_ndk, turn

pytestmark = pytest.mark.slow(seconds=220)

ONE = "context/sense/model/6@SM8750"


def steps(done: Done) -> dict[str, int]:
    return dict(Counter(name.partition("/")[0] for name in done.ran))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, Done]:
    repo = sdk_repo(tmp_path_factory.mktemp("qairt"))
    return repo, repo.doit()


def test_two_lengths_for_four_chips_are_two_converts_four_libraries_and_eight_contexts(built):
    _, done = built

    assert done.code == 0, done.err
    assert {name: steps(done)[name] for name in ("convert", "library", "context", "bundle")} == {
        "convert": 2,
        "library": 4,
        "context": 8,
        "bundle": 10,  # those of libraries are for any chip
    }


def test_a_second_run_runs_nothing_and_a_new_chip_two_contexts(built):
    repo, _ = built

    again = repo.doit()
    repo.sense(chips=f"{CHIPS}, SM8650")
    added = repo.doit()
    repo.sense()

    assert again.ran == []
    assert steps(added) == {"context": 2, "verify": 2, "verdict": 2, "bundle": 2}


def test_another_version_beside_it_has_its_own_chain_and_the_old_one_stays(built):
    repo, _ = built
    repo.write("recipes/newer.yaml", (repo.root / "recipes/sense.yaml").read_text().replace(
        "model: sense", "model: newer").replace("qairt-2.40", "qairt-2.49").replace(
        "library: {targets: [aarch64-android]}", ""))  # fmt: skip

    done = repo.doit()
    (repo.root / "recipes/newer.yaml").unlink()

    assert all("/newer/" in name or name.startswith("bundle/newer/") for name in done.ran)
    assert (steps(done)["convert"], steps(done)["library"], steps(done)["context"]) == (2, 2, 8)
    facts = json.loads((repo.root / "build/newer/6/SM8750/manifest.json").read_text())
    assert facts["graphs"]["model"]["context"]["sdk_build"].startswith("v2.49.0.260730")


def test_a_bundle_tells_what_was_read_back_and_how_the_device_runs_it(built):
    repo, _ = built

    graph = json.loads((repo.root / "build/sense/6/SM8750/manifest.json").read_text())["graphs"][
        "model"
    ]

    assert graph["context"]["chip"] == {
        "arch": 79, "hvx_threads": 4, "soc_model": 69, "vtcm_mb": 8,
    }  # fmt: skip
    assert graph["context"]["settings"]["O"] == 3
    assert [one["dtype"] for one in graph["context"]["inputs"]] == ["uint16", "int32"]
    assert graph["run"]["htp"]["devices"][0]["cores"] == [{"core_id": 0, "perf_profile": "burst"}]


def test_the_sdk_in_another_folder_changes_nothing(built, tmp_path: Path):
    repo, _ = built
    elsewhere = tmp_path / "elsewhere"
    repo.old.rename(elsewhere)

    done = repo.doit(env={"SDK_240": str(elsewhere)})
    elsewhere.rename(repo.old)

    assert done.code == 0, done.err
    assert done.ran == []


@pytest.fixture
def fresh(tmp_path: Path) -> SdkRepo:
    return sdk_repo(tmp_path)


def test_an_sdk_that_is_not_there_is_told_with_its_place(fresh: SdkRepo):
    assert fresh.qnnbuild("plan").code == 0

    done = fresh.doit("convert/sense/model/6+w8a16", env={"SDK_240": ""})

    assert done.code != 0
    said = done.out + done.err
    assert "qnnbuild.yaml:2:3" in said
    assert "the environment variable SDK_240 is not set" in said


def test_an_sdk_of_another_version_is_told(fresh: SdkRepo):
    done = fresh.doit("convert/sense/model/6+w8a16", env={"SDK_240": str(fresh.new)})

    assert "the toolchain qairt-2.40 is not here: the SDK is 2.49.0" in done.out + done.err


CONVERTER = (
    "qnn-onnx-converter --input_network in/model/model.onnx --output_path out/model/model.cpp "
    "--out_node logits --input_list input_list.txt --use_native_input_files "
    "--input_dtype x float32 --input_dtype prompt int32 --act_bitwidth 16 --bias_bitwidth 32 "
    "--input_layout x NTF"
)
LIBRARY = (
    "qnn-model-lib-generator -c in/model/model.cpp -b in/model/model.bin -t x86_64-linux-clang "
    "-o out/library"
)
CONTEXT = (
    "libQnnHtp.so --model in/library/x86_64-linux-clang/libmodel.so --output_dir out/context "
    "--binary_file model --config_file htp/htp_backend_extensions.json"
)
CONVERT_ONE = "convert/sense/model/6+w8a16"
LIBRARY_ONE = "library/sense/model/6/x86_64-linux-clang"


@pytest.mark.parametrize(
    ("switch", "action", "said", "command"),
    [
        (("qnn-onnx-converter", "abrupt"), CONVERT_ONE, "ended without a word that it is complete",
         CONVERTER),
        (("link_limit", 1), LIBRARY_ONE, "lib-generator failed with exit code 1", LIBRARY),
        (("qnn-context-binary-generator", "segfault"), ONE, "failed with signal 11", CONTEXT),
        (("qnn-context-binary-generator", "finalize"), ONE, "failed with exit code", CONTEXT),
        (("context_limit_kb", 1), ONE, "failed with exit code", CONTEXT),
    ],
)  # fmt: skip
def test_a_tool_that_fails_is_told_with_its_last_lines_and_its_command(
    fresh: SdkRepo, switch: tuple[str, object], action: str, said: str, command: str
):
    turn(fresh.old, *switch)

    done = fresh.doit(action)
    told = done.out + done.err

    assert done.code != 0
    assert said in told
    assert command in " ".join(told.split())
    assert "LD_LIBRARY_PATH=" in told
    assert "recipes/sense.yaml:" in told


SHARED = """\
model: pair
license: MIT
toolchain: qairt-2.40
chips: [SM8750]
context: {share_weights: graphs}
graphs:
  enc:
    source: {file: "../models/6.onnx"}
    precision: w8a16
    calibration: {random: 2}
  joint-step:
    source: {file: "../models/10.onnx"}
    precision: fp16
    options: {qairt: {htp: {O: 2, vtcm_mb: 4}}}
"""


def test_graphs_that_share_weights_are_one_binary_with_settings_each(fresh: SdkRepo):
    """The input without a layout is channel-last in the binary, and so are its samples."""
    fresh.write("recipes/sense.yaml", SHARED)

    done = fresh.doit()
    folder = fresh.root / "build/pair/SM8750"
    graphs = json.loads((folder / "manifest.json").read_text())["graphs"]

    assert done.code == 0, done.err
    assert [path.name for path in folder.glob("*.bin")] == ["enc.bin"]
    assert graphs["enc"]["context"]["graphs_in_binary"] == ["enc", "joint_step"]
    assert graphs["joint-step"]["context"]["shared"]["with"] == ["enc"]
    assert [one["verified"]["alone"] for one in graphs.values()] == [True, True]
    told = {name: one["context"] for name, one in graphs.items()}
    assert [(c["settings"]["O"], c["chip"]["vtcm_mb"]) for c in told.values()] == [(3, 8), (2, 4)]
    assert graphs["enc"]["quantization"]["layouts"]["x"] == [0, 2, 1]
    assert told["enc"]["inputs"][0]["shape"] == [1, 8, 6]


def test_variants_share_a_binary_in_which_each_has_its_name(fresh: SdkRepo):
    recipe = fresh.root / "recipes/sense.yaml"
    fresh.sense(chips="SM8750")
    recipe.write_text(f"{recipe.read_text()}context: {{share_weights: variants}}\n")

    done = fresh.doit()
    manifests = list((fresh.root / "build/sense").glob("*/manifest.json"))

    assert done.code == 0, done.err
    assert steps(done)["context"] == 1
    (graphs,) = (json.loads(path.read_text())["graphs"] for path in manifests)
    assert {name: (one["graph"], one["variant"]) for name, one in graphs.items()} == {
        "model-6": ("model", "6"),
        "model-10": ("model", "10"),
    }
    for one in graphs.values():
        assert one["context"]["graphs_in_binary"] == ["model_6", "model_10"]
    libraries = {path.name for path in (fresh.root / "build").rglob("*.so")}
    assert libraries == {"libmodel.so"}  # each variant's lies in a folder of its own


def test_a_library_for_small_pages_is_refused_for_android(fresh: SdkRepo, tmp_path: Path):
    """As an NDK makes them that knows no larger ones and does not ask for the flag."""
    ndk = lay_out_ndk(tmp_path / "old-ndk", "26.3.11579264")
    settings = fresh.root / "qnnbuild.yaml"
    settings.write_text(re.sub(r"ndk: .*", f"ndk: {ndk}", settings.read_text(), count=1))
    build = ndk / "ndk-build"
    build.write_text(build.read_text().replace("LDFLAGS", "NOT_ASKED"))

    done = fresh.doit("library/sense/model/6/aarch64-android")

    assert "cannot be loaded where pages have 16 KB" in done.out + done.err


ENCODED = "precision: {weights: 8, activations: 16, encodings: ../enc.json}"


@pytest.mark.parametrize("falls_back", [False, True])
def test_encodings_quantize_without_samples(fresh: SdkRepo, falls_back: bool):
    entry = {"bitwidth": 16, "scale": 0.001, "offset": -32768}
    fresh.write("enc.json", json.dumps({"activation_encodings": {"x": [entry]}}))
    recipe = fresh.root / "recipes/sense.yaml"
    text = recipe.read_text().replace("    calibration: {random: 2}\n", "")
    option = "        converter: {float_fallback: true}\n" if falls_back else ""
    text = text.replace("precision: w8a16", ENCODED)
    recipe.write_text(text.replace("      qairt:\n", f"      qairt:\n{option}"))

    done = fresh.doit("bundle/sense/6@SM8750")

    assert done.code == 0, done.out + done.err
    manifest = json.loads((fresh.root / "build/sense/6/SM8750/manifest.json").read_text())
    told = manifest["graphs"]["model"]["quantization"]
    assert (told["samples"], told["layouts"]["x"]) == (0, [0, 1, 2])


def test_a_known_failure_is_no_error_until_it_works(fresh: SdkRepo):
    recipe = fresh.root / "recipes/sense.yaml"
    known = 'expect_failure: {only: SM8750, reason: "err 1002"}\n'
    recipe.write_text(recipe.read_text().replace("graphs:\n", f"{known}graphs:\n"))
    name = "expect/sense/model/6@SM8750"

    works = fresh.doit(name)
    tool = fresh.old / "bin/x86_64-linux-clang/qnn-context-binary-generator"
    tool.chmod(0o644)
    broken = fresh.doit(name)
    tool.chmod(0o755)
    turn(fresh.old, "qnn-context-binary-generator", "finalize")
    fails = fresh.doit(name)

    assert "is known to fail, and works now" in works.out + works.err
    assert broken.code != 0
    assert "cannot be started: Permission denied" in broken.out + broken.err
    assert (fails.code, fails.ran[-1:]) == (0, [name])


def test_a_tool_that_lost_its_right_to_run_is_told_how_to_get_it(fresh: SdkRepo):
    tool = fresh.old / "bin/x86_64-linux-clang/qnn-context-binary-generator"
    tool.chmod(0o644)

    done = fresh.doit(ONE)
    told = done.out + done.err

    assert "qnn-context-binary-generator cannot be started: Permission denied" in told
    assert f"hint: chmod +x {tool}" in told


def test_a_number_of_the_chip_that_the_binary_lost_is_no_mistake(fresh: SdkRepo):
    turn(fresh.old, "soc_model_is_lost", True)

    assert fresh.doit(ONE).code == 0


def test_settings_that_did_not_count_are_an_error(fresh: SdkRepo):
    """The generator as it is when it does not find its settings: it says nothing and ends well."""
    tool = fresh.old / "bin/x86_64-linux-clang/qnn-context-binary-generator"
    text = tool.read_text().replace(
        "main(sys.argv[1:], root)",
        "main([w for w in sys.argv[1:] if w != '--config_file' and not w.endswith('.json')], root)",
    )
    tool.write_text(text)

    done = fresh.doit(ONE)
    told = done.out + done.err

    assert "the binary is not what was asked for: settings did not count" in told
    assert "v68, asked for v79" in told
    assert "0, asked for 3" in told
