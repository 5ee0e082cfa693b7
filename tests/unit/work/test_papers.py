"""What a bundle tells of itself in the words of others: a bill of materials and a statement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from qnnbuild.digest import digest_file
from qnnbuild.work import archive as archives
from qnnbuild.work import bundle as bundles
from qnnbuild.work.run import Run
from tests.unit.work.test_bundle import GRAPH, staged
from tests.unit.work.test_library_bundle import made_libraries

GOLDEN = Path(__file__).parents[2] / "golden" / "bundle"
STATEMENT = "provenance.intoto.json"
MEASURED = {"sqnr_db": 61.25, "max_abs": 0.001, "cosine": 0.99999}
VERDICT: dict[str, Any] = {
    "outputs": {"prob": MEASURED}, "metrics": {"wer": {"error": 0.125}}, "why_not": None,
    "excused": {}, "bars": [],
}  # fmt: skip
SOURCES = {
    "url": {"url": "https://models.example/a.tar.gz", "sha256": "aa" * 32, "member": "m.onnx"},
    "hub": {"hub": "org/m", "revision": "1" * 40, "member": "onnx/m.onnx", "sha256": None},
    "file": {"file": "../onnx/m.onnx"},
    "export": {"export": ["python", "export.py"], "makes": "m.onnx"},
}


@pytest.fixture(autouse=True)
def _private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


RUN_GRAPH = {**GRAPH, "run_on": "SM8750"}


def verified(**params: Any) -> Run:
    params = {"graphs": {"vad": RUN_GRAPH}, **params}
    said = {"license/LICENSE.txt": "MIT License\n", "verdict-vad/verdict.json": json.dumps(VERDICT)}
    return staged(said | {"quantization-vad/q.json": '{"nodes": {"a8": 12}}'}, **params)


def made(name: str, folder: str = "out/bundle") -> Any:
    return json.loads(Path(folder, name).read_text(encoding="utf-8"))


def is_valid(text: str) -> bool:
    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(text)
    assert found is None, found
    return True


def test_the_bill_of_materials_of_a_bundle(golden: Any) -> None:
    bundles.bundle(verified())
    text = Path("out/bundle/bom.cdx.json").read_text(encoding="utf-8")

    assert is_valid(text)
    golden(GOLDEN / "bom.cdx.json", text)


def test_the_statement_of_a_bundle(golden: Any) -> None:
    bundles.bundle(verified())

    golden(
        GOLDEN / "provenance.intoto.json",
        Path("out/bundle/provenance.intoto.json").read_text(encoding="utf-8"),
    )


def test_each_file_is_in_the_papers_that_come_after_it() -> None:
    bundles.bundle(verified())
    folder = Path("out/bundle")
    digests = {path.name: digest_file(path) for path in folder.iterdir()}
    del digests["provenance.intoto.json"]
    subjects = {one["name"]: one["digest"]["sha256"] for one in made(STATEMENT)["subject"]}
    parts = {one["name"]: one["hashes"][0]["content"] for one in made("bom.cdx.json")["components"]}

    assert subjects == digests
    assert parts == {
        name: digest
        for name, digest in digests.items()
        if name not in ("bom.cdx.json", "manifest.json")
    }


@pytest.mark.parametrize(
    ("kind", "uri"),
    [
        ("url", "https://models.example/a.tar.gz"),
        ("hub", f"pkg:huggingface/org/m@{'1' * 40}#onnx/m.onnx"),
        ("file", ""),
        ("export", ""),
    ],
)
def test_every_kind_of_source_is_told(kind: str, uri: str) -> None:
    bundles.bundle(verified(graphs={"vad": {**RUN_GRAPH, "source": SOURCES[kind]}}))
    told = made(STATEMENT)["predicate"]["buildDefinition"]["resolvedDependencies"]
    source = next(one for one in told if one["annotations"]["role"] == "source")

    assert source.get("uri", "") == uri
    assert source["digest"]["qnnbuildTree"] == "0e" * 32
    assert is_valid(Path("out/bundle/bom.cdx.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("spdx", ["MIT", "Apache-2.0 OR MIT", "LicenseRef-Own", "no SPDX at all"])
def test_every_licence_can_stand_in_the_bill(spdx: str) -> None:
    bundles.bundle(verified(license={"spdx": spdx, "redistribute": False}))
    text = Path("out/bundle/bom.cdx.json").read_text(encoding="utf-8")

    assert is_valid(text)
    assert spdx in json.dumps(json.loads(text)["metadata"]["component"]["licenses"])


def test_another_word_of_the_recipe_is_another_serial_number() -> None:
    serials = []
    for description in ("one", "another"):
        bundles.bundle(verified(description=description))
        serials.append(made("bom.cdx.json")["serialNumber"])
        for folder in ("in", "out"):
            Path(folder).rename(f"{folder}-{description}")

    assert serials[0] != serials[1]


def test_a_graph_that_was_not_run_has_a_card_without_measures_of_it() -> None:
    report = {"inputs": [], "outputs": [], "comparison": {"why_not": "random"}, "on_cpu": []}
    bundles.bundle(staged({"report-vad/report.json": json.dumps(report)}))

    card = made("bom.cdx.json")["metadata"]["component"]["modelCard"]

    assert "quantitativeAnalysis" not in card
    assert is_valid(Path("out/bundle/bom.cdx.json").read_text(encoding="utf-8"))


def test_an_archive_has_papers_of_its_own_and_a_statement_beside() -> None:
    made_libraries(Path("in/bundle"))
    Path("out/archive").mkdir(parents=True)
    told = {"name": "m-x64", "kind": "library", "target": "linux-x64", "info": []}
    inputs, outputs = {"bundle": Path("in/bundle")}, {"archive": Path("out/archive")}
    archives.archive(Run(params=told, inputs=inputs, outputs=outputs))

    inside = made(STATEMENT, "packed/m-x64")
    beside = made(STATEMENT, "out/archive")

    assert {one["name"] for one in beside["subject"]} == {"m-x64.tar.bz2", "manifest.json"}
    assert beside["predicate"] == inside["predicate"]
    assert {one["name"] for one in inside["subject"]} >= {"LICENSE", "libencoder.so"}
    parts = {one["name"] for one in made("bom.cdx.json", "packed/m-x64")["components"]}
    assert "libencoder.so" in parts
    assert is_valid(Path("packed/m-x64/bom.cdx.json").read_text(encoding="utf-8"))
