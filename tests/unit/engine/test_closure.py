from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.closure import Closure
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import ToolError

Write = Callable[..., Path]


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """repo(**files): a folder of modules that can be imported from; `__` in a name is a slash."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(**files: str) -> Path:
        for name, text in files.items():
            path = tmp_path / (name.replace("__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        importlib.invalidate_caches()
        return tmp_path

    return write


def init(folder: Path, *packages: str, text: str = "") -> None:
    for package in packages:
        (folder / package / "__init__.py").write_text(text)


def found(module: str) -> list[str]:
    return list(Closure().files(module))


def test_a_module_alone_is_its_closure(repo):
    folder = repo(qbx_alone="import json\nfrom pathlib import Path\n")

    assert Closure().files("qbx_alone") == {"qbx_alone": folder / "qbx_alone.py"}


def test_imports_are_followed_in_every_spelling(repo):
    folder = repo(
        qbx__work="""\
import qbx.one
import qbx.two as second
from qbx import three, SOMETHING
from qbx.four import name
from . import five
from .six import name
from .deep import seven
def late():
    from qbx import eight
""",
        **{f"qbx__{n}": "" for n in ("one", "two", "three", "four", "five", "six", "eight", "no")},
        qbx__deep__seven="from .. import nine\nfrom ..ten import x\n",
        qbx__nine="",
        qbx__ten="",
    )
    init(folder, "qbx", "qbx/deep")

    assert found("qbx.work") == sorted(
        ["qbx", "qbx.deep", "qbx.deep.seven", "qbx.work"]
        + [f"qbx.{n}" for n in ("one", "two", "three", "four", "five", "six")]
        + [f"qbx.{n}" for n in ("eight", "nine", "ten")]
    )


def test_modules_that_import_each_other_are_each_there_once(repo):
    repo(qbx__one="from qbx import two\n", qbx__two="from qbx import one\n")

    assert found("qbx.one") == ["qbx.one", "qbx.two"]


def test_a_package_that_the_module_lies_in_runs_first_and_is_there(repo):
    folder = repo(qbx__deep__work="", qbx__helper="")
    init(folder, "qbx", text="from .helper import x\n")
    init(folder, "qbx/deep")

    assert found("qbx.deep.work") == ["qbx", "qbx.deep", "qbx.deep.work", "qbx.helper"]


def test_dots_in_a_package_mean_the_package_itself(repo):
    folder = repo(qbx__one="")
    init(folder, "qbx", text="from . import one\n")

    assert found("qbx") == ["qbx", "qbx.one"]


def test_what_lies_beside_a_plugin_is_there(repo):
    repo(
        qbx_plugin="import qbx_help\nimport json\n",
        qbx_help="from qbx_more import x\n",
        qbx_more="",
    )

    assert found("qbx_plugin") == ["qbx_help", "qbx_more", "qbx_plugin"]


def test_what_a_plugin_takes_from_qnnbuild_is_there(repo):
    repo(qbx_plugin="from qnnbuild.work.run import Run\n")

    assert found("qbx_plugin") == ["qbx_plugin", "qnnbuild", "qnnbuild.work", "qnnbuild.work.run"]


def test_what_is_installed_beside_a_package_is_not_there(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    (folder / "qbx_a").mkdir(parents=True)
    (folder / "qbx_a" / "__init__.py").write_text("import qbx_b\nfrom . import own\n")
    (folder / "qbx_a" / "own.py").write_text("")
    (folder / "qbx_b.py").write_text("")
    monkeypatch.syspath_prepend(folder)

    assert found("qbx_a") == ["qbx_a", "qbx_a.own"]


def test_nothing_is_run_or_loaded(repo):
    folder = repo(
        qbx__work="from qbx.other import x\nfrom wave.more import y\nimport qbx.missing.deeper\n",
        qbx__other="raise SystemExit\n",
    )
    init(folder, "qbx", text="raise SystemExit\n")
    sys.modules.pop("wave", None)
    names = found("qbx.work")

    assert names == ["qbx", "qbx.other", "qbx.work"]
    assert [name for name in ("qbx", "wave") if name in sys.modules] == []


def test_an_import_of_what_is_not_installed_is_passed_over(repo):
    repo(
        qbx_work="""\
try:
    from no_such_package.deep import x
    import no_such_package.other
except ImportError:
    x = None
"""
    )

    assert found("qbx_work") == ["qbx_work"]


def test_an_entry_that_is_not_there_is_told(repo):
    repo(qbx__work="")
    with pytest.raises(ToolError) as caught:
        found("qbx.wrok")

    assert str(caught.value) == "no module is named 'qbx.wrok', which an action calls"


def test_an_entry_that_cannot_be_read_is_told(repo):
    folder = repo(qbx_work="x = 1\ndef (:\n")
    with pytest.raises(ToolError) as caught:
        found("qbx_work")

    assert str(caught.value) == f"{folder / 'qbx_work.py'}:2: invalid syntax"


def test_a_fetch_comes_again_only_when_code_changes_that_reads_and_brings_files():
    assert [name for name in found("qnnbuild.work.fetch") if name.count(".") == 2] == [
        *("qnnbuild.formats.bounded_tar", "qnnbuild.formats.format_error"),
        "qnnbuild.formats.mapped",
        *("qnnbuild.work.commands", "qnnbuild.work.download", "qnnbuild.work.fetch"),
        *("qnnbuild.work.first_bytes", "qnnbuild.work.hub", "qnnbuild.work.license_text"),
        *("qnnbuild.work.onnx_files", "qnnbuild.work.packages", "qnnbuild.work.pip"),
        *("qnnbuild.work.run", "qnnbuild.work.walk"),
    ]


# --- what is remembered ---------------------------------------------------------------------------


class Kept(dict[str, Any]):
    """In the place of the records."""

    def imports(self, digest: str) -> Any:
        return self.get(digest)

    def keep_imports(self, found: Mapping[str, Any]) -> None:
        self.update(found)


def test_a_file_is_read_once_for_each_content(repo, monkeypatch):
    folder = repo(qbr_a="import qbr_b\n", qbr_b="from os import path\n")
    kept = Kept()
    first = Closure(Stats(), kept).files("qbr_a")
    monkeypatch.setattr(ast, "parse", None)

    assert Closure(Stats(), kept).files("qbr_a") == first
    assert sorted(kept.values()) == [((0, "os", ("path",)),), ((0, "qbr_b", ()),)]
    monkeypatch.undo()
    (folder / "qbr_b.py").write_text("import qbr_c\n")
    (folder / "qbr_c.py").write_text("")
    monkeypatch.syspath_prepend(folder)
    importlib.invalidate_caches()
    assert [*Closure(Stats(), kept).files("qbr_a")] == ["qbr_a", "qbr_b", "qbr_c"]


def test_imports_are_found_wherever_a_statement_can_stand(repo):
    repo(
        qbs_all="""\
async def f():
    async with a:
        import qbs_1
    for _ in b:
        import qbs_2
    else:
        import qbs_3
    try:
        import qbs_4
    except* ValueError:
        import qbs_5
    else:
        import qbs_6
    finally:
        import qbs_7
class C:
    while True:
        match x:
            case 1:
                import qbs_8
            case _:
                if y:
                    pass
                elif z:
                    import qbs_9
""",
        **{f"qbs_{n}": "" for n in range(1, 10)},
    )

    assert found("qbs_all") == [*(f"qbs_{n}" for n in range(1, 10)), "qbs_all"]
