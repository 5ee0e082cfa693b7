"""What of the user's sources takes whose place in a skeleton, before make sees it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.qairt_op_package import laid_out
from qnnbuild.work.run import Run, WorkError


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)
    for name in ("Makefile", "src/MyInterface.cpp", "src/ops/MyAdd.cpp", "src/ops/MyMul.cpp"):
        write(tmp_path / "in/skeleton/My" / name, "generated")
    return Run(
        params={"ops": ["MyAdd"], "at": "op_packages.MyAdd"},
        inputs={"skeleton": Path("in/skeleton"), "sources": Path("in/sources")},
        outputs={},
    )


def write(path: Path, text: str = "mine") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def files(folder: Path) -> dict[str, str]:
    found = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text() for path in sorted(found)}


def test_sources_take_the_place_of_all_generated_operators(run: Run):
    write(Path("in/sources/udo/add_htp.cpp"))
    write(Path("in/sources/udo/add.h"))

    folder = laid_out(run)

    assert folder == Path("package/My")
    assert files(folder) == {
        "Makefile": "generated",
        "src/MyInterface.cpp": "generated",
        "src/ops/add.h": "mine",
        "src/ops/add_htp.cpp": "mine",
    }


def test_a_makefile_and_an_interface_take_the_place_of_theirs(run: Run):
    for name in ("HTP_Makefile", "MyInterface.cpp", "MyAdd.cpp"):
        write(Path("in/sources") / name)

    assert files(laid_out(run)) == {
        "Makefile": "mine",
        "src/MyInterface.cpp": "mine",
        "src/ops/MyAdd.cpp": "mine",
    }


def test_two_sources_of_one_name_are_refused(run: Run):
    for folder in "ab":
        write(Path("in/sources") / folder / "add.cpp")

    with pytest.raises(WorkError) as told:
        laid_out(run)

    assert told.value.message == "two sources are called 'add.cpp'"
    assert told.value.place == "op_packages.MyAdd.sources"


def test_headers_alone_are_no_sources(run: Run):
    write(Path("in/sources/add.h"))

    with pytest.raises(WorkError) as told:
        laid_out(run)

    assert told.value.message == "among the sources is no C++ file"
