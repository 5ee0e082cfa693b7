"""A bundle is held against all that it says: whatever is changed in it is told, by its name."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.digest import digest_file
from qnnbuild.engine import bundle_contexts
from qnnbuild.engine.bundle_verify import Verified, verify
from qnnbuild.errors import NothingMatches
from qnnbuild.formats.any_file import FileFacts
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.work.archive import pack
from qnnbuild.work.bundle import bundle
from tests.unit.work.test_bundle import facts, staged

STATEMENT = "provenance.intoto.json"
FACTS = ContextFacts(
    size=1, soc_type="SM8750", soc_model=69, arch=79, vtcm_mb=8, hvx_threads=4,
    sdk_build="v2.51.0.1", settings={},
)  # fmt: skip
CHIP = {"soc_model": 69, "arch": 79, "vtcm_mb": 8}


def reader(facts: ContextFacts) -> Callable[[Path], FileFacts]:
    return lambda _: facts


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundle whose binary is of FACTS."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(bundle_contexts, "read_any", reader(FACTS))
    bundle(staged({"facts-vad/vad.json": json.dumps({**facts("vad"), "chip": CHIP})}))
    return tmp_path / "out/bundle"


def messages(found: Verified) -> list[str]:
    return [problem.message for problem in found.problems]


def test_what_is_as_it_was_built_is_good(made: Path) -> None:
    found = verify(made, chip="sm8750", sdk="2.51")

    assert messages(found) == []
    assert (found.model, found.chips, found.sdk_builds) == ("silero-vad", ["SM8750"], ["v2.51.0.1"])
    assert (found.files, found.signature, found.notes) == (8, "none", [])


@pytest.mark.parametrize(
    "name",
    ["LICENSE.txt", "README.md", "bom.cdx.json", "run.py", "vad_ctx.onnx", "vad_ctx_qnn.bin"],
)
def test_one_other_byte_in_a_file_is_told_once(made: Path, name: str) -> None:
    data = bytearray((made / name).read_bytes())
    data[len(data) // 2] ^= 1
    (made / name).write_bytes(data)

    told = messages(verify(made))

    assert f"{name} was changed" in told
    assert [one for one in told if name not in one] == []


@pytest.mark.parametrize("name", ["manifest.json", STATEMENT])
def test_any_other_byte_in_what_tells_of_others_is_told(made: Path, name: str) -> None:
    whole = (made / name).read_bytes()
    for at in range(0, len(whole), max(1, len(whole) // 60)):
        (made / name).write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])

        assert messages(verify(made)), f"byte {at} of {name}"


def test_what_is_missing_or_added_is_told(made: Path) -> None:
    (made / "run.py").unlink()
    (made / "notes.txt").write_text("mine")
    (made / "link").symlink_to("/etc/passwd")

    assert messages(verify(made)) == [
        "link is a link, no file",
        "notes.txt is not listed in manifest.json and provenance.intoto.json and bom.cdx.json",
        "run.py is missing",
    ]


@pytest.mark.parametrize("name", ["bom.cdx.json", STATEMENT])
def test_a_paper_that_is_missing_is_told(made: Path, name: str) -> None:
    (made / name).unlink()

    assert f"there is no {name}" in messages(verify(made))


def test_a_forger_who_changes_all_papers_but_one_is_told(made: Path) -> None:
    (made / "vad_ctx_qnn.bin").write_bytes(b"another")
    forged = digest_file(made / "vad_ctx_qnn.bin")
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["files"]["vad_ctx_qnn.bin"]["sha256"] = forged
    (made / "manifest.json").write_text(json.dumps(manifest))

    told = messages(verify(made))

    assert told == ["manifest.json was changed", "vad_ctx_qnn.bin was changed"]


def test_a_statement_of_another_source_is_told_with_its_place(made: Path) -> None:
    path = made / STATEMENT
    path.write_text(path.read_text().replace("silero-vad==6.2.3", "silero-vad==6.2.4"))

    (problem,) = verify(made).problems

    assert problem.message == f"{STATEMENT} is not what manifest.json and the files make it"
    assert problem.facts == (("at", "/predicate/buildDefinition/resolvedDependencies/0/name"),)


def test_a_statement_of_another_kind_is_not_guessed_at(made: Path) -> None:
    path = made / STATEMENT
    path.write_text(path.read_text().replace("bundle/v1", "bundle/v9"))

    assert messages(verify(made)) == [f"{STATEMENT} is of a kind that is not known here"]


@pytest.mark.parametrize(
    ("binary", "says"),
    [
        ({"arch": 75, "soc_model": 57}, "another chip than manifest.json says of 'vad'"),
        ({"vtcm_mb": 4}, "another chip than manifest.json says of 'vad'"),
        ({"sdk_build": "v2.40.0.1"}, "another SDK than manifest.json says of 'vad'"),
    ],
)
def test_a_binary_for_another_chip_or_by_another_sdk_is_told(
    made: Path, monkeypatch: pytest.MonkeyPatch, binary: dict[str, Any], says: str
) -> None:
    monkeypatch.setattr(bundle_contexts, "read_any", reader(replace(FACTS, **binary)))

    assert any(says in one for one in messages(verify(made)))


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        ({"chip": "SM8650"}, "it is not for SM8650, but for SM8750"),
        ({"sdk": "2.40"}, "it is not by the SDK 2.40, but by v2.51.0.1"),
        ({"sdk": "2.5"}, "it is not by the SDK 2.5, but by v2.51.0.1"),
    ],
)
def test_what_was_asked_for_and_is_not_so_is_told(
    made: Path, wanted: dict[str, Any], says: str
) -> None:
    assert messages(verify(made, **wanted)) == [says]


def test_a_chip_may_be_named_as_it_is_sold(made: Path) -> None:
    assert messages(verify(made, chip="Snapdragon 8 Elite")) == []


def test_an_archive_is_looked_at_like_its_folder(made: Path, tmp_path: Path) -> None:
    pack(made, tmp_path / "b.tar.bz2")

    assert messages(verify(tmp_path / "b.tar.bz2")) == []

    (made / "run.py").write_text("another")
    pack(made, tmp_path / "b.tar.bz2")

    assert messages(verify(tmp_path / "b.tar.bz2")) == ["run.py was changed"]


def test_an_archive_without_a_manifest_is_no_bundle(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    with tarfile.open(path, "w"):
        pass

    assert messages(verify(path)) == ["there is no manifest.json"]


def test_what_is_not_there_is_no_verdict(tmp_path: Path) -> None:
    with pytest.raises(NothingMatches, match="no such file or folder"):
        verify(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["[]", "{}", '{"files": []}', "\xff", "[" * 5000])
def test_a_manifest_of_any_other_form_is_told(made: Path, text: str) -> None:
    (made / "manifest.json").write_text(text, encoding="latin-1")

    assert len(verify(made).problems) == 1


@pytest.mark.parametrize(
    "said",
    [{"graphs": []}, {"graphs": {"vad": 1}}, {"chips": 3}, {"actions": None}, {"variants": [1]}],
)
def test_a_manifest_with_a_part_of_another_form_is_told(made: Path, said: dict[str, Any]) -> None:
    path = made / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), **said}))

    assert "manifest.json was changed" in messages(verify(made))


VALUES: list[Any] = [None, 0, -1.5, "x", "../../x", [], {}, [1], [[]], {"a": 1}, ["\0"], True]


def places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values below."""
    rows: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        rows = list(value.items())
    elif isinstance(value, list):
        rows = list(enumerate(value))
    return [at, *(found for name, one in rows for found in places(one, (*at, name)))]


@pytest.mark.parametrize("name", ["manifest.json", STATEMENT, "bom.cdx.json"])
def test_whatever_stands_in_a_paper_the_answer_is_a_verdict(made: Path, name: str) -> None:
    whole = (made / name).read_text(encoding="utf-8")
    every = places(json.loads(whole))[1:]
    for number, at in enumerate(every[:: max(1, len(every) // 40)]):
        told = json.loads(whole)
        inner = told
        for step in at[:-1]:
            inner = inner[step]
        value = VALUES[number % len(VALUES)]
        if inner[at[-1]] == value:
            continue
        inner[at[-1]] = value
        (made / name).write_text(json.dumps(told), encoding="utf-8")

        assert messages(verify(made, chip="SM8750")), at
