"""Files that are small by their kind: what is none of it is never read as a whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, SampleFiles, SourceFiles, SourceOnnx
from qnnbuild.engine.bundle_check import read_bundle
from qnnbuild.engine.folder import BuildFolder
from qnnbuild.engine.glance import gate_file, glance
from qnnbuild.engine.input_sizes import MOST
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.report_file import told_by
from qnnbuild.engine.small_file import GATE, MANIFEST, PAGE, NotSmall, read_json, read_small
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.errors import NotGood, RecipeError, Span

AT = Span(file="recipes/m.yaml", line=3, column=1)
TERABYTE = 1 << 40


def hollow(path: Path, size: int = TERABYTE) -> Path:
    """A file that says to be large and takes no room."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(size)
    return path


def test_as_much_as_the_kind_has_is_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345678")

    assert read_small(tmp_path / "a", 8) == b"12345678"
    with pytest.raises(NotSmall, match="a is larger than 0 MiB"):
        read_small(tmp_path / "a", 7)


def test_pipes_and_devices_are_not_read(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    for name in ("pipe", "link"):
        with pytest.raises(NotSmall, match="is no file, but a device"):
            read_small(tmp_path / name)
    with pytest.raises(IsADirectoryError):
        read_small(tmp_path)


def test_json_that_is_too_large_is_wrong_as_damaged_json_is(tmp_path):
    with pytest.raises(ValueError, match="larger than 64 MiB"):
        read_json(hollow(tmp_path / "a.json"))


def test_what_came_with_a_repo_and_is_too_large_counts_as_not_there(tmp_path):
    assert glance(hollow(Path(gate_file(tmp_path)), GATE + 1).parents[1]).parts is None
    assert told_by(hollow(tmp_path / "report.html", PAGE + 1)) is None
    for name in ("index.json", "m/manifest.json"):
        hollow(tmp_path / "build" / name, MANIFEST + 1)
    folder = BuildFolder(tmp_path / "build", Store(tmp_path / "store", Stats()))

    assert folder.reindex([]) is False
    assert not (tmp_path / "build/index.json").exists()


def test_a_manifest_of_a_terabyte_is_told(tmp_path):
    hollow(tmp_path / "manifest.json")
    with pytest.raises(NotGood, match="is larger than any: 1,099,511,627,776 bytes"):
        read_bundle(tmp_path)


@pytest.mark.parametrize(
    ("step", "name", "source", "what"),
    [
        ("fetch", "source", SourceOnnx(path="a"), "an ONNX file"),
        ("bundle", "license", SourceFiles(patterns=("a",)), "a licence"),
        ("export", "requirements", SourceFiles(patterns=("a",)), "a list of requirements"),
        ("convert", "encodings", SourceFiles(patterns=("a",)), "a file of encodings"),
        ("wrap", "override", SourceFiles(patterns=("a",)), "an override"),
        ("skeleton", "xml", SourceFiles(patterns=("a",)), "a definition of operators"),
        ("packages", "files", SourceFiles(patterns=("a.xml",)), "a definition of operators"),
        ("samples", "files", SampleFiles(patterns=("a.txt",)), "an input_list"),
    ],
)
def test_a_file_that_is_larger_than_its_kind_is_told_unread(
    tmp_path, step: str, name: str, source: SourceOnnx | SourceFiles, what: str
):
    (file,) = (source.path,) if isinstance(source, SourceOnnx) else source.patterns
    action = Action(
        name=f"{step}/m", step=step, call="x:y", outputs=("o",), inputs={name: source},
        places={"source": AT},
    )  # fmt: skip
    inputs = Inputs(tmp_path, Stats(), Records(Path(":memory:"), "here"))
    hollow(tmp_path / file)
    with pytest.raises(RecipeError) as caught:
        inputs.tree(action, name)

    (problem,) = caught.value.problems
    assert (problem.message, problem.at) == (f"{file} is too large for {what}", AT)
    assert dict(problem.facts) == {
        "size": "1,099,511,627,776 bytes",
        "at most": f"{MOST[what]:,} bytes",
    }


def test_side_files_and_samples_may_be_large(tmp_path):
    action = Action(
        name="samples/m", step="samples", call="x:y", outputs=("o",),
        inputs={"files": SampleFiles(patterns=("s.npz",))},
    )  # fmt: skip
    large = hollow(tmp_path / "s.npz")

    inputs = Inputs(tmp_path, Stats(), Records(Path(":memory:"), "here"))
    assert inputs.files(action, "files") == {"s.npz": large}
