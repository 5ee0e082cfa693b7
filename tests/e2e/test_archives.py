"""Bundles as single files, through real doit on the stand-in of Qualcomm's SDK."""

from __future__ import annotations

import json
import tarfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.sdk_repo import SdkRepo, sdk_repo
from tests.e2e.small_repo import Done, SmallRepo
from tests.models import tiny_conv

pytestmark = pytest.mark.slow(seconds=40)

NAME = "sense-voice-zh-en-ja-ko-yue-2024-07-17-int8"
RECIPE = f"""\
model: sense
license: {{spdx: Apache-2.0, file: LICENSE.md}}
toolchain: qairt-2.40
chips: [SM8550, SM8850]
variants: {{frames: [6, 10]}}
source: {{file: "../models/{{frames}}.onnx"}}
graphs:
  model:
    inputs: {{x: {{dtype: float32, layout: NTF}}, prompt: {{dtype: int32}}}}
    outputs: [logits]
    precision: w8a16
    calibration: {{random: 2}}
    options: {{qairt: {{library: {{targets: [aarch64-android]}}}}}}
bundle:
  files: [tokens.txt, "test_wavs/*"]
  info: {{num_seconds: "{{frames}}s"}}
  archives:
    context: "sherpa-onnx-qnn-{{chip}}-binary-{{frames}}-seconds-{NAME}"
    library: "sherpa-onnx-qnn-{{frames}}-seconds-{NAME}-{{target}}"
"""
FILES = {
    "LICENSE.md": "Apache License, as it is.\n",
    "tokens.txt": "a 0\n",
    "test_wavs/en.wav": "RIFF en",
    "test_wavs/zh.wav": "RIFF zh",
}
CONTEXTS = {
    f"sherpa-onnx-qnn-{chip}-binary-{frames}-seconds-{NAME}"
    for chip in ("SM8550", "SM8850")
    for frames in (6, 10)
}
LIBRARIES = {
    f"sherpa-onnx-qnn-{frames}-seconds-{NAME}-{target}"
    for target in ("linux-x64", "android-aarch64")
    for frames in (6, 10)
}
COMMON = ["LICENSE", "README.md", "bom.cdx.json", "info.txt", "manifest.json"]
COMMON += ["provenance.intoto.json"]
TELL_OF_OTHERS = {"manifest.json", "provenance.intoto.json"}
MORE = ["test_wavs", "test_wavs/en.wav", "test_wavs/zh.wav", "tokens.txt"]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, Done]:
    repo = sdk_repo(tmp_path_factory.mktemp("archives"))
    repo.write("recipes/sense.yaml", RECIPE)
    for name, text in FILES.items():
        repo.write(f"recipes/{name}", text)
    return repo, repo.doit()


def packed(repo: SdkRepo, name: str) -> Path:
    return repo.root / "build/archives" / name / f"{name}.tar.bz2"


def members(path: Path) -> dict[str, bytes]:
    """Below the one folder at the top, which is called as the file is; folders are empty."""
    name = path.name.removesuffix(".tar.bz2")
    with tarfile.open(path, "r:bz2") as tar:
        found = {m.name: (tar.extractfile(m) if m.isfile() else None) for m in tar}
        assert next(iter(found)) == name
        return {
            inside.removeprefix(f"{name}/"): data.read() if data else b""
            for inside, data in found.items()
            if inside != name
        }


def manifest_of(path: Path) -> Any:
    return json.loads(members(path)["manifest.json"])


def test_archives_are_called_as_users_know_them(built) -> None:
    repo, done = built

    assert done.code == 0, done.err + done.out
    assert {path.name for path in (repo.root / "build/archives").iterdir()} == CONTEXTS | LIBRARIES


@pytest.mark.parametrize("name", sorted(CONTEXTS))
def test_an_archive_for_a_chip_has_the_binary_and_no_library(built, name: str) -> None:
    repo, _ = built

    found = members(packed(repo, name))

    assert list(found) == sorted([*COMMON, *MORE, "model.bin"])
    assert found["LICENSE"].decode() == FILES["LICENSE.md"]
    frames = name.partition("-binary-")[2].partition("-")[0]
    assert found["info.txt"].decode() == f"num_seconds={frames}s\n"
    built_file = repo.root / f"build/sense/{frames}/{name.split('-')[3]}/model.bin"
    assert found["model.bin"] == built_file.read_bytes()


@pytest.mark.parametrize("name", sorted(LIBRARIES))
def test_an_archive_of_libraries_has_those_of_one_system(built, name: str) -> None:
    repo, _ = built

    found = members(packed(repo, name))

    target = name.removeprefix(f"{name.partition('-int8-')[0]}-int8-")
    frames = name.split("-")[3]
    assert list(found) == sorted([*COMMON, *MORE, "libmodel.so"])
    assert found["info.txt"].decode() == f"num_seconds={frames}s\ntarget={target}\n"
    folder = repo.root / f"build/sense/{frames}/libraries/{target}"
    assert found["libmodel.so"] == (folder / "libmodel.so").read_bytes()


def test_the_manifest_inside_is_of_what_is_inside(built) -> None:
    repo, _ = built

    for name in CONTEXTS | LIBRARIES:
        found = members(packed(repo, name))
        listed = json.loads(found["manifest.json"])["files"]

        assert set(listed) == {n for n in found if found[n]} - TELL_OF_OTHERS
        assert {n: one["bytes"] for n, one in listed.items()} == {n: len(found[n]) for n in listed}


def test_members_are_sorted_and_of_nobody_and_no_time(built) -> None:
    repo, _ = built

    with tarfile.open(packed(repo, min(CONTEXTS))) as tar:
        told = [(m.name, m.uid, m.gid, m.uname, m.gname, m.mtime, oct(m.mode)) for m in tar]

    assert [name for name, *_ in told] == sorted(name for name, *_ in told)
    assert {tuple(facts[1:6]) for facts in told} == {(0, 0, "", "", 315532800)}
    assert {facts[6] for facts in told} == {"0o644", "0o755"}


def test_the_same_bundle_is_packed_to_the_same_bytes(built) -> None:
    repo, _ = built

    done = repo.qnnbuild("rebuild", "archive/*")

    assert done.code == 0, done.out + done.err
    assert done.err.strip() == "24 files, all the same"


def test_another_line_of_info_packs_the_archives_and_nothing_else(built) -> None:
    repo, _ = built
    recipe = repo.root / "recipes/sense.yaml"
    text = recipe.read_text()
    recipe.write_text(text.replace("info: {", "info: {language: many, "))

    done = repo.doit()
    told = members(packed(repo, min(CONTEXTS)))["info.txt"].decode()
    recipe.write_text(text)
    repo.doit()

    assert Counter(name.partition("/")[0] for name in done.ran) == {"archive": 8}
    assert told.startswith("language=many\nnum_seconds=")


def test_the_index_lists_archives_and_libraries(built) -> None:
    repo, _ = built

    index = json.loads((repo.root / "build/index.json").read_text())

    assert set(index["archives"]) == CONTEXTS | LIBRARIES
    one = index["archives"][f"sherpa-onnx-qnn-SM8550-binary-6-seconds-{NAME}"]
    path = repo.root / "build" / one.pop("path")
    assert one.pop("bytes") == path.stat().st_size
    assert len(one.pop("sha256")) == 64
    assert one == {
        "kind": "context",
        "target": None,
        "model": "sense",
        "variants": ["6"],
        "chips": ["SM8550"],
        "license": "Apache-2.0",
        "redistribute": True,
    }
    assert set(index["libraries"]["sense"]) == {"6", "10"}
    assert "sense/6/libraries" in index["published"]


def test_a_bundle_of_libraries_says_what_they_are(built) -> None:
    repo, _ = built
    folder = repo.root / "build/sense/6/libraries"

    graph = json.loads((folder / "manifest.json").read_text())["graphs"]["model"]

    android = graph["libraries"]["android-aarch64"]
    assert (android["system"], android["page_bytes"]) == ("aarch64-android", 16384)
    assert android["file"] == "android-aarch64/libmodel.so"
    assert [one["name"] for one in graph["sdk"]["inputs"]] == ["x", "prompt"]
    assert "--input_layout" in graph["sdk"]["converter"]


def test_the_card_tells_how_qnn_runs_it(built) -> None:
    repo, _ = built
    card = members(packed(repo, min(CONTEXTS)))["README.md"].decode()

    assert "library_name: qnn" in card
    assert "ADSP_LIBRARY_PATH" in card
    assert "the text is in LICENSE." in card
    assert "onnxruntime" not in card.lower()


ALONG = """\
model: along
license: MIT
toolchain: qairt-2.40
chips: [SM8750]
source:
  export: {run: [python, export.py], needs: export.py, makes: model.onnx, also: "*.txt"}
graphs: {model: {precision: fp16}}
bundle:
  exported: tokens.txt
  sdk_libraries: {redistribute: true}
  archives: {context: "{model}-{chip}", library: "{model}-{target}"}
"""
EXPORT = """\
import pathlib
import shutil

shutil.copy("MODEL", "model.onnx")
pathlib.Path("tokens.txt").write_text("a 0\\n")
"""
OF_THE_SDK = ["libQnnHtp.so", "libQnnHtpV79Skel.so", "libQnnHtpV79Stub.so", "libQnnSystem.so"]


@pytest.fixture(scope="module")
def along(built) -> SdkRepo:
    """A model of which the SDK's libraries and what its export writes go along."""
    repo: SdkRepo = built[0]
    repo.write("recipes/export.py", EXPORT.replace("MODEL", str(repo.root / "models/6.onnx")))
    repo.write("recipes/along.yaml", ALONG)
    done = repo.doit("along")
    assert done.code == 0, done.out + done.err
    return repo


def test_the_sdks_libraries_go_along_where_the_recipe_says_that_they_may(along: SdkRepo) -> None:
    found = members(packed(along, "along-SM8750"))

    folder = "qnn/android-aarch64"
    there = {name.removeprefix(f"{folder}/") for name in found if name.startswith(f"{folder}/")}
    assert there == {"LICENSE.txt", *OF_THE_SDK}
    skel = along.old / "lib/hexagon-v79/unsigned/libQnnHtpV79Skel.so"
    assert found[f"{folder}/libQnnHtpV79Skel.so"] == skel.read_bytes()
    assert found["tokens.txt"] == b"a 0\n"


def test_libraries_for_another_system_have_none_of_them(along: SdkRepo) -> None:
    found = members(packed(along, "along-linux-x64"))

    assert not any(name.startswith("qnn/") for name in found)
    assert "sdk_libraries" in json.loads(found["manifest.json"])


def test_an_sdk_without_its_licence_gives_no_library_away(along: SdkRepo) -> None:
    text = along.old / "LICENSE.txt"
    kept = text.read_text()
    text.unlink()

    done = along.doit("bundle/along@SM8750")
    text.write_text(kept)

    assert "the SDK has no text of its licence" in done.out + done.err
    assert "recipes/along.yaml:10:3" in done.out + done.err


def test_an_archive_that_is_cleaned_leaves_the_index(along: SdkRepo) -> None:
    name = "along-SM8750"

    cleaned = along.doit("clean", f"archive/{name}")
    after = json.loads((along.root / "build/index.json").read_text())
    again = along.doit(f"archive/{name}")

    assert cleaned.code == 0
    assert name not in after["archives"]
    assert "along-linux-x64" in after["archives"]
    assert again.ran == []
    assert packed(along, name).is_file()


def test_the_toolchain_ort_has_archives_of_all_that_is_in_its_bundles(tmp_path: Path) -> None:
    repo = SmallRepo.make(tmp_path, QNNBUILD_STORE=str(tmp_path / "store"))
    repo.model("tiny", tiny_conv())
    repo.recipe(
        "tiny",
        "model: tiny\nlicense: MIT\nchips: [SM8750]\nsource: {file: ../onnx/tiny.onnx}\n"
        'bundle: {info: {chip: "{chip}"}, archives: {context: "tiny-{chip}"}}\n',
    )

    done = repo.doit()
    path = tmp_path / "build/archives/tiny-SM8750/tiny-SM8750.tar.bz2"
    found = members(path)

    assert done.code == 0, done.out + done.err
    folder = tmp_path / "build/tiny/SM8750"
    bundled = {file.name: file.read_bytes() for file in folder.iterdir()}
    same = {name for name in bundled if found.get(name) == bundled[name]}
    assert same == set(bundled) - {"LICENSE.txt", "README.md", "bom.cdx.json"} - TELL_OF_OTHERS
    assert found["LICENSE"] == bundled["LICENSE.txt"]
    assert found["info.txt"] == b"chip=SM8750\n"
    assert {"run.py", "tiny_ctx.onnx"} <= same
