"""Compiled templates are kept beside Python's own, and nothing depends on that they are."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment, Template

from qnnbuild.report import compiled

TEXT = {"t": "{{ name }}!"}


def environment(**settings: bool) -> Environment:
    made = Environment(loader=DictLoader(TEXT), autoescape=True, **settings)  # type: ignore[arg-type]
    made.bytecode_cache = compiled.Compiled(made)
    return made


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    return tmp_path


def test_a_template_is_compiled_once(folder, monkeypatch):
    environment().get_template("t")
    again = environment()
    monkeypatch.setattr(again, "_generate", None)

    assert len(list(folder.iterdir())) == 1
    assert again.get_template("t").render(name="a<b") == "a&lt;b!"


def test_other_settings_are_another_file(folder):
    for one in (environment(), environment(trim_blocks=True)):
        one.get_template("t")
    more = environment()
    more.filters["own"] = str
    more.bytecode_cache = compiled.Compiled(more)
    more.get_template("t")

    assert len(list(folder.iterdir())) == 3


@pytest.mark.parametrize("cut", [0, 1, 3, 12, 30, -1])
def test_what_is_damaged_is_compiled_again(folder, cut):
    environment().get_template("t")
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    file.write_bytes(whole[:cut])

    assert environment().get_template("t").render(name="a") == "a!"
    assert file.read_bytes() == whole


def test_a_folder_that_takes_nothing_is_no_trouble(monkeypatch, folder):
    monkeypatch.setattr(compiled, "FOLDER", folder / "nowhere")
    template: Template = environment().get_template("t")

    assert template.render(name="a") == "a!"


def test_who_wants_no_bytecode_gets_none(folder, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    environment().get_template("t")

    assert list(folder.iterdir()) == []
