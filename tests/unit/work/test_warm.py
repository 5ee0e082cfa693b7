"""What the warm server imports before it forks."""

from __future__ import annotations

import importlib
import sys
from importlib.util import find_spec
from types import ModuleType

import pytest

from qnnbuild.work.warm import _without_formulas, load


def test_a_module_of_ours_is_imported_with_what_it_will_need(monkeypatch):
    for name in ("qnnbuild.work.emulator", "onnxruntime"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    asked: list[str] = []
    monkeypatch.setattr("qnnbuild.work.warm.import_module", asked.append)
    monkeypatch.setitem(sys.modules, "qnnbuild.work.emulator", ModuleType("emulator"))
    load("qnnbuild.work.no_such_thing")

    assert asked == ["qnnbuild.work.no_such_thing", "onnxruntime"]


@pytest.mark.parametrize("module", ["recipes.code", "qnnbuild.worker", "-", "qnnbuild.work.run"])
def test_what_is_not_ours_or_there_already_is_left_alone(monkeypatch, module):
    importlib.import_module("qnnbuild.work.run")
    asked: list[str] = []
    monkeypatch.setattr("qnnbuild.work.warm.import_module", asked.append)
    load(module)

    assert asked == []


def test_sympy_is_not_taken_along_and_is_there_for_an_action_that_wants_it(monkeypatch):
    monkeypatch.delitem(sys.modules, "sympy", raising=False)
    with _without_formulas(), pytest.raises(ModuleNotFoundError):
        importlib.import_module("sympy")

    assert find_spec("sympy") is not None


def test_sympy_that_is_loaded_already_stays(monkeypatch):
    loaded = ModuleType("sympy")
    monkeypatch.setitem(sys.modules, "sympy", loaded)
    with _without_formulas():
        found = importlib.import_module("sympy")

    assert found is loaded
    assert sys.modules["sympy"] is loaded
