from __future__ import annotations

import base64
import hashlib
import importlib
import sys
from pathlib import Path

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.digest import digest_bytes, digest_json
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import Span, ToolError


def measured(name: str) -> str:
    return Identity(Stats()).measure(name)


# --- packages ---------------------------------------------------------------------------------


def recorded(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the package `qbx-tool` in it, as pip leaves one."""
    files = {
        "qbx_tool/__init__.py": b"x = 1\n",
        "qbx_tool/libtool.so.1.2": b"library",
        "qbx_tool/extension.cpython-311-x86_64-linux-gnu.so": b"extension",
    }
    info = "qbx_tool-1.2.3.dist-info"
    lines = [f"{name},sha256={recorded(data)},{len(data)}" for name, data in files.items()]
    lines += [
        "qbx_tool/__pycache__/__init__.cpython-311.pyc,,",
        "../../../bin/qbx-tool,sha256=abc,5",
        f"{info}/METADATA,sha256=abc,5",
        f"{info}/RECORD,,",
    ]
    files[f"{info}/METADATA"] = b"Metadata-Version: 2.1\nName: qbx-tool\nVersion: 1.2.3\n"
    files[f"{info}/RECORD"] = "\n".join(lines).encode()
    for name, data in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(data)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return tmp_path


def test_a_package_is_its_version_and_its_contents(site):
    contents = {
        "qbx_tool/__init__.py": recorded(b"x = 1\n"),
        "qbx_tool/libtool.so.1.2": digest_bytes(b"library"),
        "qbx_tool/extension.cpython-311-x86_64-linux-gnu.so": digest_bytes(b"extension"),
    }

    assert measured("package:qbx-tool") == f"1.2.3 sha256:{digest_json(contents)}"


@pytest.mark.parametrize("file", ["libtool.so.1.2", "extension.cpython-311-x86_64-linux-gnu.so"])
def test_a_library_that_was_exchanged_is_another_tool(site, file):
    before = measured("package:qbx-tool")
    (site / "qbx_tool" / file).write_bytes(b"EXCHANGED")

    assert measured("package:qbx-tool") != before


def test_a_library_that_is_missing_is_another_tool(site):
    before = measured("package:qbx-tool")
    (site / "qbx_tool" / "libtool.so.1.2").unlink()

    assert measured("package:qbx-tool") != before


def test_what_python_itself_leaves_beside_changes_nothing(site):
    before = measured("package:qbx-tool")
    (site / "qbx_tool" / "__pycache__").mkdir()
    (site / "qbx_tool" / "__pycache__" / "__init__.cpython-311.pyc").write_bytes(b"x")

    assert measured("package:qbx-tool") == before


def test_a_tool_is_measured_once_a_run(site):
    identity = Identity(Stats())
    before = identity.measure("package:qbx-tool")
    (site / "qbx_tool" / "libtool.so.1.2").write_bytes(b"exchanged")

    assert identity.measure("package:qbx-tool") == before


def test_a_package_that_is_not_installed_is_told_with_the_command():
    with pytest.raises(ToolError) as caught:
        measured("package:qbx-none")

    (problem,) = caught.value.problems
    assert problem.message == "the Python package 'qbx-none' is not installed"
    assert problem.hint == "pip install qbx-none"


def test_a_package_that_does_not_list_its_files_cannot_be_measured(site):
    (site / "qbx_tool-1.2.3.dist-info" / "RECORD").unlink()
    with pytest.raises(ToolError) as caught:
        measured("package:qbx-tool")

    (problem,) = caught.value.problems
    assert problem.message == "the Python package 'qbx-tool' has no list of its files"
    assert problem.hint == "install it with pip, in a virtual environment"


def test_python_is_known_by_its_minor_version():
    major, minor = sys.version_info[:2]

    assert measured("python") == f"{sys.implementation.name} {major}.{minor}"


# --- code -------------------------------------------------------------------------------------


@pytest.fixture
def code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "qbx"
    folder.mkdir()
    for name, text in {
        "__init__": "",
        "work": "from . import helper\n",
        "helper": "from qbx.deep import VALUE\n",
        "deep": "VALUE = 1\n",
        "unrelated": "",
    }.items():
        (folder / f"{name}.py").write_text(text)
    (folder / "helper.json").write_text('{"a": 1}')
    (folder / "unrelated.json").write_text("{}")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    return folder


def test_code_is_the_modules_by_name_and_the_data_beside_them(code):
    named = {
        "qbx": digest_bytes(b""),
        "qbx.work": digest_bytes(b"from . import helper\n"),
        "qbx.helper": digest_bytes(b"from qbx.deep import VALUE\n"),
        "qbx.helper.json": digest_bytes(b'{"a": 1}'),
        "qbx.deep": digest_bytes(b"VALUE = 1\n"),
    }

    assert measured("code:qbx.work") == f"sha256:{digest_json(named)}"


@pytest.mark.parametrize(
    "file", ["__init__.py", "work.py", "helper.py", "helper.json", "deep.py", "deep.json"]
)
def test_code_changes_with_each_file_that_it_needs(code, file):
    before = measured("code:qbx.work")
    with (code / file).open("a") as changed:
        changed.write("\n")

    assert measured("code:qbx.work") != before


@pytest.mark.parametrize("file", ["unrelated.py", "unrelated.json", "new.py"])
def test_code_does_not_change_with_a_file_that_it_does_not_need(code, file):
    before = measured("code:qbx.work")
    with (code / file).open("a") as changed:
        changed.write("\n")

    assert measured("code:qbx.work") == before


def test_the_same_code_elsewhere_is_the_same_code(code, tmp_path, monkeypatch):
    before = measured("code:qbx.work")
    (tmp_path / "other").mkdir()
    code.rename(tmp_path / "other" / "qbx")
    monkeypatch.syspath_prepend(tmp_path / "other")
    importlib.invalidate_caches()

    assert measured("code:qbx.work") == before


# --- actions ----------------------------------------------------------------------------------


def test_an_action_is_its_tools_and_its_code(site, code):
    action = Action(
        name="a",
        step="s",
        call="qbx.work:function",
        outputs=("o",),
        tools=("package:qbx-tool", "python"),
    )
    identity = Identity(Stats())

    assert identity.of(action) == {
        "package:qbx-tool": measured("package:qbx-tool"),
        "python": measured("python"),
        "code:qbx.work": measured("code:qbx.work"),
    }


def test_a_program_has_no_code_of_ours():
    action = Action(name="a", step="s", argv=("cp", "{in.a}", "{out.o}"), outputs=("o",))

    assert Identity(Stats()).of(action) == {}


def test_the_files_of_an_action_are_those_that_change_what_it_is(site, code):
    action = Action(
        name="a", step="s", call="qbx.work:f", outputs=("o",), tools=("package:qbx-tool",)
    )
    files = sorted(path.relative_to(site).as_posix() for path in Identity(Stats()).files(action))

    assert files == [
        "qbx/__init__.py",
        "qbx/deep.py",
        "qbx/helper.json",
        "qbx/helper.py",
        "qbx/work.py",
        "qbx_tool-1.2.3.dist-info/RECORD",
        "qbx_tool/extension.cpython-311-x86_64-linux-gnu.so",
        "qbx_tool/libtool.so.1.2",
    ]


def test_a_package_that_is_missing_is_told_where_it_is_needed():
    at = Span(file="m.yaml", line=4, column=7)
    action = Action(
        name="samples/m",
        step="samples",
        argv=("true",),
        outputs=("feeds",),
        tools=("package:qbx-nowhere",),
        places={"package:qbx-nowhere": at},
    )

    with pytest.raises(ToolError) as caught:
        Identity(Stats()).of(action)

    (problem,) = caught.value.problems
    assert (problem.message, problem.at, problem.hint) == (
        "the Python package 'qbx-nowhere' is not installed",
        at,
        "pip install qbx-nowhere",
    )
