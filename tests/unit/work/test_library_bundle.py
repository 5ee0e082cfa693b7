"""Libraries for any chip, in one folder with what is told of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.work.library_bundle import bundle
from qnnbuild.work.run import Run, WorkError

GOLDEN = Path(__file__).parents[2] / "golden" / "bundle"
SYSTEMS = {"linux-x64": "x86_64-linux-clang", "android-aarch64": "aarch64-android"}
BUNDLED = sorted(["libencoder.so", "libjoint.so"] * 2 + ["libQnnHtp.so"])

BORDER = {
    "inputs": [
        {
            "name": "x", "dtype": "uint16", "shape": [1, 8, 6], "scale": 0.00012345678,
            "offset": -32768, "order": [0, 2, 1],
        },
        {"name": "prompt", "dtype": "int32", "shape": [4], "order": [0]},
    ],
    "outputs": [{"name": "logits", "dtype": "float32", "shape": [1, 6, 4]}],
}  # fmt: skip


def provenance() -> dict[str, Any]:
    told: dict[str, Any] = {}
    for graph in ("encoder", "joint"):
        prepared = {"step": "prepare", "key": "01", "tool": {}, "inputs": {"model": "0e" * 32}}
        told[f"prepare/m/{graph}"] = {**prepared, "outputs": {}}
        for system in SYSTEMS.values():
            tool = {f"qairt:qairt-2.40/library/{system}": "2.40.0 sha256:1", "code:x": "2"}
            told[f"library/m/{graph}/{system}"] = {
                "step": "library", "key": "02", "tool": tool, "inputs": {}, "outputs": {},
            }  # fmt: skip
    return told


def graph(name: str) -> dict[str, Any]:
    return {
        "graph": name,
        "variant": "10",
        "precision": "w8a16",
        "source": {"file": f"{name}.onnx"},
        "prepared": f"prepare/m/{name}",
        "libraries": {t: f"library/m/{name}/{system}" for t, system in SYSTEMS.items()},
        "sdk": {"graph": name, "converter": ["--input_network", "model.onnx", "--act_bitwidth=16"]},
    }


PARAMS: dict[str, Any] = {
    "model": "m",
    "variants": [{"name": "10", "axes": {"seconds": "10"}}],
    "description": "Says what is spoken.",
    "homepage": "https://m.example",
    "license": {"spdx": "Apache-2.0", "redistribute": True},
    "chips": [],
    "toolchain": "qairt-2.40",
    "folder": "recipes",
    "sdk_libraries": ["android-aarch64"],
    "graphs": {name: graph(name) for name in ("encoder", "joint")},
}


def staged(top: Path, **params: Any) -> Run:
    given = {"provenance/provenance.json": json.dumps(provenance())}
    given["license/LICENSE"] = "Apache License\n"
    given["files/recipes/tokens.txt"] = "a 0\n"
    given["runtime-0/qnn/android-aarch64/libQnnHtp.so"] = "backend"
    report = {
        "inputs": [{"name": "x", "dtype": "float32", "shape": [1, 6, 8], "layout": "NTF"}],
        "outputs": [],
        "comparison": {"samples": "none"},
    }
    for name in PARAMS["graphs"]:
        given[f"report-{name}/report.json"] = json.dumps(report)
        for target, system in SYSTEMS.items():
            file = f"{system}/lib{name}.so"
            facts: dict[str, Any] = {"target": system, "file": file, "page_bytes": 16384}
            facts["sdk_build"] = "v2.40.0.251030114326_189385"
            if target == "linux-x64":
                facts["border"] = BORDER
            given[f"library-{name}-{target}/{file}"] = f"{name} for {target}"
            given[f"facts-{name}-{target}/library.json"] = json.dumps(facts)
    for name, text in given.items():
        path = top / "in" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    (top / "out").mkdir()
    inputs = {path.name: path for path in (top / "in").iterdir()}
    return Run(params={**PARAMS, **params}, inputs=inputs, outputs={"bundle": top / "out"})


def made_libraries(to: Path) -> None:
    """The bundle as another action takes it."""
    top = to.parent / "staged"
    bundle(staged(top))
    shutil.copytree(top / "out", to)
    shutil.rmtree(top)


@pytest.fixture
def made(tmp_path: Path) -> Path:
    bundle(staged(tmp_path))
    return tmp_path / "out"


def test_the_manifest_of_libraries(made: Path, golden: Any) -> None:
    golden(GOLDEN / "manifest-libraries.json", (made / "manifest.json").read_text("utf-8"))


def test_the_card_of_libraries(made: Path, golden: Any) -> None:
    golden(GOLDEN / "card-libraries.md", (made / "README.md").read_text("utf-8"))


def test_each_system_has_its_folder(made: Path) -> None:
    assert sorted(p.relative_to(made).as_posix() for p in made.rglob("*") if p.is_file()) == [
        *("LICENSE.txt", "README.md", "android-aarch64/libencoder.so"),
        *("android-aarch64/libjoint.so", "bom.cdx.json", "linux-x64/libencoder.so"),
        *("linux-x64/libjoint.so", "manifest.json", "provenance.intoto.json"),
        *("qnn/android-aarch64/libQnnHtp.so", "tokens.txt"),
    ]


def test_a_library_that_was_built_under_another_name_is_called_after_its_graph(
    tmp_path: Path,
) -> None:
    run = staged(tmp_path)
    folder = run.inputs["library-encoder-linux-x64"] / "x86_64-linux-clang"
    (folder / "libencoder.so").rename(folder / "libencoder-10-seconds.so")
    facts = run.inputs["facts-encoder-linux-x64"] / "library.json"
    facts.write_text(facts.read_text().replace("libencoder.so", "libencoder-10-seconds.so"))

    bundle(run)

    told = json.loads((tmp_path / "out/manifest.json").read_text())["graphs"]["encoder"]
    assert told["libraries"]["linux-x64"]["file"] == "linux-x64/libencoder.so"
    assert told["libraries"]["linux-x64"]["built_as"] == "libencoder-10-seconds.so"


def test_a_file_of_the_recipe_may_not_take_a_librarys_name(tmp_path: Path) -> None:
    run = staged(tmp_path)
    path = run.inputs["files"] / "recipes/linux-x64/libencoder.so"
    path.parent.mkdir()
    path.write_text("mine")

    with pytest.raises(WorkError, match="would overwrite the bundle's own"):
        bundle(run)
