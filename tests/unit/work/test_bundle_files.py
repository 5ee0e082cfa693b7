"""What goes along in a bundle: files of the export, libraries of the SDK."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.bundle import bundle
from qnnbuild.work.run import Run, WorkError
from tests.unit.work.test_bundle import made, manifest, read, staged


@pytest.fixture(autouse=True)
def _private_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def exporting(**files: str) -> Run:
    """A bundle that takes along what the source's command writes beside its models."""
    given: dict[str, bytes | str] = {"exported-0/tokens.txt": "a 0\n"}
    given |= {"exported-0/wavs/en.wav": "RIFF", "exported-0/samples/0.npz": "no"}
    return staged({**given, **files}, exported=["tokens.txt", "wavs/*"])


def test_of_what_an_export_writes_the_asked_files_go_along() -> None:
    bundle(exporting())

    assert {"tokens.txt", "wavs/en.wav"} <= set(made())
    assert not any(name.endswith(".npz") for name in made())


def test_two_exports_may_write_the_very_same_file() -> None:
    bundle(exporting(**{"exported-1/tokens.txt": "a 0\n"}))

    assert read("tokens.txt") == "a 0\n"


def test_two_exports_may_not_write_one_file_differently() -> None:
    with pytest.raises(WorkError, match=r"would overwrite the bundle's own 'tokens\.txt'"):
        bundle(exporting(**{"exported-1/tokens.txt": "b 0\n"}))


def test_an_export_that_wrote_nothing_of_the_kind_is_told() -> None:
    run = exporting()
    run.params = {**run.params, "exported": ["*.md"]}

    with pytest.raises(WorkError) as caught:
        bundle(run)

    assert caught.value.message == "the export made nothing for '*.md'"
    assert caught.value.place == "bundle.exported"


def test_libraries_of_the_sdk_lie_in_a_folder_of_their_own_and_are_told() -> None:
    files = {"runtime-0/qnn/android-aarch64/libQnnHtp.so": "backend"}
    bundle(staged(files, sdk_libraries=["android-aarch64"]))

    assert "qnn/android-aarch64/libQnnHtp.so" in made()
    assert manifest()["sdk_libraries"] == ["android-aarch64"]
