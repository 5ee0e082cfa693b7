"""One binary for several chips with the real plugin: made, read back, judged, made smaller."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.multi_chip import read_multi_chip
from qnnbuild.formats.zip_records import read_records, record_data
from qnnbuild.work.multi_chip_files import strip_binary
from tests.e2e.small_repo import SmallRepo
from tests.models import tiny_conv

pytestmark = pytest.mark.long_file(seconds=40)

RECIPE = """\
model: several
license: MIT
source: {file: ../onnx/wide.onnx}
graphs:
  wide:
    verify: {chips: generations}
    only: {SM8550: {options: {ort: {vtcm_mb: 4}}}}
chips: [SM8550, SM8650, SM8750]
context: {multi_soc: true}
"""
BUNDLE = "build/several/multi"
BINARY = f"{BUNDLE}/wide_ctx_qnn.bin"


def several(root: Path, recipe: str = RECIPE) -> SmallRepo:
    repo = SmallRepo.make(root)
    repo.model("wide", tiny_conv(24))
    repo.recipe("several", recipe)
    return repo


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    repo = several(tmp_path_factory.mktemp("several") / "repo")
    done = repo.doit()
    assert done.code == 0, done.out + done.err
    return repo


def manifest(repo: SmallRepo, folder: str = BUNDLE):
    return json.loads((repo.root / folder / "manifest.json").read_text())


def chips_of(path: Path) -> list[tuple[str | None, int | None, float | None]]:
    read = read_multi_chip(memoryview(path.read_bytes()))
    return [(c.context.soc_type, c.context.arch, c.context.vtcm_mb) for c in read.chips]


def test_each_chip_has_a_record_with_its_own_vtcm(built: SmallRepo):
    assert chips_of(built.root / BINARY) == [
        ("SM8750", 79, 8), ("SM8650", 75, 8), ("SM8550", 73, 4),
    ]  # fmt: skip


def test_the_single_binary_of_each_chip_is_run_and_the_manifest_says_so(built: SmallRepo):
    graph = manifest(built)["graphs"]["wide"]

    assert sorted(graph["verified_singles"]) == ["SM8550", "SM8650", "SM8750"]
    for chip, verdict in graph["verified_singles"].items():
        assert verdict["chip"]["soc_type"] == chip
        assert verdict["ran_on"]["host"] == "HTP emulator"
        assert verdict["outputs"]["scores"]["sqnr_db"] > 40
    assert graph["verified"]["binary_of"] == "the chip alone"


def test_it_is_smaller_than_single_binaries_and_says_by_how_much(built: SmallRepo):
    context = manifest(built)["graphs"]["wide"]["context"]
    shared = context["shared"]
    ours = sum(file["size"] for file in context["files"].values())

    assert sorted(shared["alone_bytes"]) == ["SM8550", "SM8650", "SM8750"]
    assert shared["bytes"] == ours
    assert shared["saved_bytes"] == sum(shared["alone_bytes"].values()) - ours > 0
    assert [chip["own_weights"] for chip in context["chips"]] == [0, 0, 0]


def test_the_index_leads_every_chip_to_the_one_folder(built: SmallRepo):
    index = json.loads((built.root / "build/index.json").read_text())

    paths = {chip: models["several"][""]["path"] for chip, models in index["chips"].items()}
    assert paths == dict.fromkeys(["SM8550", "SM8650", "SM8750"], "several/multi")


def test_its_run_py_says_that_the_emulator_loads_no_such_file(built: SmallRepo):
    done = built.run([sys.executable, str(built.root / BUNDLE / "run.py")])

    assert done.code == 4
    assert done.err == "run.py: the binary is for several chips; the emulator loads none such\n"


def test_a_second_build_of_it_is_the_same_to_the_byte(built: SmallRepo, tmp_path: Path):
    """The plugin writes the time of day into such a file; what ships has none."""
    again = built.copy(tmp_path / "elsewhere")

    assert again.doit().code == 0
    assert again.files(BUNDLE) == built.files(BUNDLE)


def test_another_chip_costs_its_own_binary_and_the_common_one(built: SmallRepo, tmp_path: Path):
    repo = built.copy(tmp_path / "repo", QNNBUILD_STORE=str(built.root / ".qnnbuild"))
    repo.recipe("several", RECIPE.replace("SM8750]", "SM8750, SM8850]"))
    ran = repo.doit().ran

    assert [name for name in ran if name.startswith("context/")] == [
        "context/several/wide@SM8850", "context/several/wide@multi",
    ]  # fmt: skip
    assert len(chips_of(repo.root / BINARY)) == 4


def test_chips_that_get_another_model_are_a_group_of_their_own(tmp_path: Path):
    recipe = RECIPE.replace("{options: {ort: {vtcm_mb: 4}}}", "{simplify: false}").replace(
        "[SM8550, SM8650", "[SM8475, SM8550, SM8650"
    )
    repo = several(tmp_path / "repo", recipe.replace("{SM8550: {", '{"arch<75": {'))
    planned = repo.qnnbuild("plan", "context/*@multi*").out

    assert "context/several/wide@multi " in planned
    assert "context/several/wide@multi~SM8650 " in planned


@pytest.mark.parametrize(
    ("chips", "left"),
    [("SM8650", ["SM8650"]), ("SM8750,SM8550", ["SM8550", "SM8750"])],
)
def test_it_is_stripped_to_fewer_chips_and_stays_whole(
    built: SmallRepo, tmp_path: Path, chips: str, left: list[str]
):
    ctx = f"{BUNDLE}/wide_ctx.onnx"
    done = built.qnnbuild("strip", ctx, "--chips", chips, "-o", str(tmp_path))
    facts = read_any(tmp_path / "wide_ctx.onnx")
    assert isinstance(facts, CtxOnnxFacts)

    assert done.code == 0
    assert [name for name, _, _ in chips_of(tmp_path / "wide_ctx_qnn.bin")] == left
    assert sorted(facts.soc_models) == sorted(
        {"SM8550": 43, "SM8650": 57, "SM8750": 69}[n] for n in left
    )
    inspected = built.qnnbuild("inspect", str(tmp_path / "wide_ctx.onnx"))
    assert inspected.code == 0, inspected.err


def test_it_is_split_into_one_for_each_chip(built: SmallRepo, tmp_path: Path):
    done = built.qnnbuild("strip", BINARY, "--each", "-o", str(tmp_path))
    made = {path.parent.name: chips_of(path) for path in tmp_path.rglob("*.bin")}

    assert done.code == 0
    assert made == {
        "SM8550": [("SM8550", 73, 4)],
        "SM8650": [("SM8650", 75, 8)],
        "SM8750": [("SM8750", 79, 8)],
    }


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("strip", BINARY, "--chips", "SM8350", "-o", "out"),
            "error: it holds nothing for SM8350\n  hint: it is for SM8550, SM8650, SM8750",
        ),
        (
            ("strip", BINARY, "--chips", "57;69", "-o", "out"),
            "error: no chip is named '57;69'",
        ),
        (("strip", BINARY, "-o", BUNDLE), f"error: '{BUNDLE}' holds the file itself"),
        (
            ("strip", "onnx/wide.onnx", "-o", "out"),
            "error: onnx/wide.onnx is not for several chips",
        ),
    ],
)
def test_what_cannot_be_stripped_is_told(built: SmallRepo, words: tuple[str, ...], told: str):
    done = built.qnnbuild(*words)

    assert done.code in (2, 3)
    assert done.err.startswith(told), done.err
    assert not (built.root / "out").exists()


@pytest.mark.parametrize(
    "wrong",
    [
        'chips: [SM8650, "57;69"]',
        "chips: [SM8650]\ngraphs: {wide: {options: {ort: {soc_model: '57,57'}}}}",
        "chips: [SM8650]\ngraphs: {wide: {options: {ort: {vtcm_mb: '8;4'}}}}",
        "chips: [SM8650, SM8750]\ncontext: {multi_soc: {SM8650: ['*']}}",
        "chips: [SM8650, SM8750]\ncontext: {multi_soc: {a: [SM8650], b: ['*']}}",
        "chips: [SM8650, SM8750]\ncontext: {multi_soc: {a: ['@auto']}}",
        "chips: [SM8650, SM8750]\ncontext: {multi_soc: yes}",
    ],
)
def test_lists_of_chips_that_the_plugin_swallows_are_refused(tmp_path: Path, wrong: str):
    repo = several(tmp_path / "repo", f"model: several\nlicense: MIT\n{wrong}\n")

    assert repo.qnnbuild("check").code == 2


@pytest.mark.skipif(
    sys.version_info[:2] != (3, 12), reason="the plugin's deploy tool is in its wheel for 3.12 only"
)
def test_the_plugins_own_tool_strips_to_the_same_records(built: SmallRepo, tmp_path: Path):
    source = built.root / BINARY
    tool = ("-m", "onnxruntime_qnn.deploy_multi_soc_ep_context", "--input_bin", str(source))
    theirs = tmp_path / "theirs.bin"
    done = built.run(
        [
            *(sys.executable, *tool, "--input_onnx", str(source.with_name("wide_ctx.onnx"))),
            *("--output_bin", str(theirs), "--output_onnx", str(tmp_path / "theirs.onnx")),
            *("-r", "htp.cache.sm8550.0"),
        ]
    )
    (ours,) = strip_binary(source, {69, 57}, tmp_path)

    assert done.code == 0, done.err
    here, there = contents_of(ours), contents_of(theirs)
    assert here.keys() == there.keys()
    assert [name for name in here if not holds(here[name], there[name])] == []


def holds(ours: Any, theirs: Any) -> bool:
    """Whether all of theirs is in ours; the tool leaves out what it does not know."""
    if isinstance(theirs, dict):
        return all(name in ours and holds(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(holds, ours, theirs))
    return bool(ours == theirs)


def contents_of(path: Path) -> dict[str, Any]:
    """Record → contents; of the description all but the time and the order of its lists."""
    data = memoryview(path.read_bytes())
    found: dict[str, Any] = {}
    for record in read_records(data):
        contents = bytes(record_data(data, record))
        found[record.name] = contents
        if record.name.startswith("dlc.metadata"):
            said = json.loads(contents)
            del said["header"]["timestamp"]
            said["cacheList"].sort(key=lambda one: one["cacheName"])
            said["relations"].sort(key=lambda one: one["parentRecordName"])
            found[record.name] = said
    return found
