"""Bundles become single files: what is in them, and that the bytes are always the same."""

from __future__ import annotations

import json
import os
import tarfile
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.digest import digest_file
from qnnbuild.work.archive import archive, pack
from qnnbuild.work.run import Run, WorkError
from tests.unit.work.test_library_bundle import BUNDLED, made_libraries


@pytest.fixture(autouse=True)
def _private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def staged(**params: Any) -> Run:
    """An archive of the libraries that test_library_bundle bundles, for Android."""
    if not Path("in/bundle").exists():
        made_libraries(Path("in/bundle"))
    Path("out/archive").mkdir(parents=True, exist_ok=True)
    told = {"name": "m-android-aarch64", "kind": "library", "target": "android-aarch64", "info": []}
    return Run(
        params={**told, **params},
        inputs={"bundle": Path("in/bundle")},
        outputs={"archive": Path("out/archive")},
    )


def inside(name: str = "m-android-aarch64") -> dict[str, bytes]:
    with tarfile.open(f"out/archive/{name}.tar.bz2") as tar:
        files = [(member.name, tar.extractfile(member)) for member in tar if member.isfile()]
        return {path.removeprefix(f"{name}/"): data.read() for path, data in files if data}


def test_of_a_bundle_of_libraries_those_of_one_system_are_taken() -> None:
    archive(staged(info=["num_seconds=5s", "target=android-aarch64"]))

    found = inside()

    assert list(found) == [
        *("LICENSE", "README.md", "bom.cdx.json", "info.txt", "libencoder.so", "libjoint.so"),
        *("manifest.json", "provenance.intoto.json"),
        *("qnn/android-aarch64/libQnnHtp.so", "tokens.txt"),
    ]
    assert found["libencoder.so"] == b"encoder for android-aarch64"
    assert found["info.txt"] == b"num_seconds=5s\ntarget=android-aarch64\n"


def test_the_manifest_inside_knows_no_other_system() -> None:
    archive(staged())

    manifest = json.loads(inside()["manifest.json"])

    assert manifest["archive"] == {
        "name": "m-android-aarch64", "kind": "library", "target": "android-aarch64",
    }  # fmt: skip
    assert manifest["sdk_libraries"] == ["android-aarch64"]
    assert manifest["graphs"]["encoder"]["files"] == ["libencoder.so"]
    assert list(manifest["graphs"]["encoder"]["libraries"]) == ["android-aarch64"]
    assert "linux-x64" not in inside()["README.md"].decode()


def test_without_a_line_there_is_no_info() -> None:
    archive(staged())

    assert "info.txt" not in inside()


def test_what_lies_beside_tells_the_file_and_what_is_in_it() -> None:
    archive(staged())

    told = json.loads(Path("out/archive/manifest.json").read_text(encoding="utf-8"))
    packed = Path("out/archive/m-android-aarch64.tar.bz2")

    assert told["files"] == {
        packed.name: {"sha256": digest_file(packed), "bytes": packed.stat().st_size}
    }
    assert set(told["members"]) == set(inside()) - {"manifest.json", "provenance.intoto.json"}


@pytest.mark.parametrize("name", ["info.txt", "LICENSE", "licence.TXT", "libEncoder.so"])
def test_a_file_of_the_recipe_may_not_take_a_name_of_the_archives(name: str) -> None:
    made_libraries(Path("in/bundle"))
    Path("in/bundle", name).write_text("mine")

    if name == "licence.TXT":  # no name of ours
        archive(staged(info=["a=b"]))
        assert name in inside()
        return
    with pytest.raises(WorkError) as caught:
        archive(staged(info=["a=b"]))

    assert "would overwrite the archive's own" in caught.value.message
    assert caught.value.place == "bundle.files"


def test_the_same_files_are_packed_to_the_same_bytes_whoever_and_whenever(tmp_path: Path) -> None:
    digests = []
    for number in range(2):
        folder = tmp_path / str(number) / "name"
        (folder / "b").mkdir(parents=True)
        for at, file in enumerate(("z", "b/ä", "a") if number else ("a", "z", "b/ä")):
            path = folder / file
            path.write_bytes(file.encode() * 1000)
            path.chmod(0o600 if number else 0o755)
            os.utime(path, (number, at))
        pack(folder, tmp_path / f"{number}.tar.bz2")
        digests.append(digest_file(tmp_path / f"{number}.tar.bz2"))

    assert digests[0] == digests[1]


def test_what_is_bundled_is_what_the_other_tests_look_at() -> None:
    made_libraries(Path("in/bundle"))

    assert sorted(p.name for p in Path("in/bundle").rglob("*.so")) == BUNDLED
