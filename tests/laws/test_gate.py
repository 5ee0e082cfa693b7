"""The gate against looking at everything: whatever happens to the files, both say the same."""

from __future__ import annotations

import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest
from doit.doit_cmd import DoitMain
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from qnnbuild.bridge.dodo import PLUGINS
from qnnbuild.engine import gate
from qnnbuild.engine.state import Current

FAKES = Path(__file__).resolve().parents[1] / "e2e"
MODELS = ("a", "b", "c")


def _edit(root: Path, model: str) -> None:
    (root / f"{model}.txt").write_text(f"{time.time_ns()}")


def _edit_with_the_time_kept(root: Path, model: str) -> None:
    path = root / f"{model}.txt"
    before = path.stat()
    path.write_text("".join(reversed(path.read_text())))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _touch(root: Path, model: str) -> None:
    (root / f"{model}.txt").touch()


def _delete_an_output(root: Path, model: str) -> None:
    (root / "build" / f"fetch-{model}").unlink(missing_ok=True)


def _damage_an_output(root: Path, model: str) -> None:
    path = root / "build" / f"context-{model}"
    if path.exists():
        path.write_text("x" * path.stat().st_size)


def _change_a_recipe(root: Path, model: str) -> None:
    write_recipe(root, model, more=str(time.time_ns()))


def _drop_a_recipe(root: Path, model: str) -> None:
    (root / "recipes" / f"{model}.yaml").unlink(missing_ok=True)


def _bring_a_recipe_back(root: Path, model: str) -> None:
    if not (root / "recipes" / f"{model}.yaml").exists():
        write_recipe(root, model)


def _change_the_settings(root: Path, _: str) -> None:
    (root / "qnnbuild.yaml").write_text(f"{time.time_ns()}")


def _damage_the_gate(root: Path, _: str) -> None:
    path = gate.gate_file(root)
    if path.exists():
        path.write_bytes(path.read_bytes()[:-1])


CHANGES = (
    _edit, _edit_with_the_time_kept, _touch, _delete_an_output, _damage_an_output, _change_a_recipe,
    _drop_a_recipe, _bring_a_recipe_back, _change_the_settings, _damage_the_gate,
)  # fmt: skip


def write_recipe(root: Path, model: str, more: str = "") -> None:
    told = {
        f"fetch/{model}": {"reads": f"{model}.txt"},
        f"context/{model}": {"needs": [f"fetch/{model}"], "does": f"say {more}"},
    }
    (root / "recipes" / f"{model}.yaml").write_text(json.dumps(told))


@pytest.fixture(scope="module")
def fakes() -> Iterator[ModuleType]:
    """The fake build, also under the name by which doit finds its loader."""
    sys.path.insert(0, str(FAKES))
    try:
        yield importlib.import_module("fake_build")
    finally:
        sys.path.remove(str(FAKES))


@pytest.mark.parametrize("change", CHANGES)
def test_behind_a_shut_gate_each_change_is_seen(
    fakes: ModuleType, change: Callable[[Path, str], None]
) -> None:
    with _repo() as root:
        _build(root)
        _settle(root)
        change(root, "b")
        _build(root)

        assert _stale(fakes, root) == []


Round = tuple[list[tuple[Any, str]], bool]
ROUND = st.tuples(
    st.lists(st.tuples(st.sampled_from(CHANGES), st.sampled_from(MODELS)), max_size=2),
    st.booleans(),  # whether the gate is given the time to shut
)


@settings(deadline=None, max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(ROUND, min_size=3, max_size=8))
def test_after_every_build_everything_is_current(fakes: ModuleType, rounds: list[Round]) -> None:
    with _repo() as root:
        for changes, settle in rounds:
            for change, model in changes:
                change(root, model)
            code = _build(root)
            stale = _stale(fakes, root)
            if settle:
                _settle(root)

            assert code == 0
            assert stale == []


def _build(root: Path) -> int:
    main = DoitMain(extra_config={"GLOBAL": {"loader": "fake"}, **_plugins()})
    code: int = main.run(["-o", str(root / "told.txt")])
    return code


def _settle(root: Path) -> None:
    """What it takes for the gate to shut."""
    for _ in range(2):
        time.sleep(0.06)
        _build(root)


def _stale(fakes: ModuleType, root: Path) -> list[str]:
    session = fakes.FakeSession(root, None)
    return [a.name for a in session.plan if not isinstance(session.state(a.name), Current)]


def _plugins() -> dict[str, dict[str, str]]:
    return {**PLUGINS, "LOADER": {"fake": "fake_loader:FakeLoader"}}


@contextmanager
def _repo() -> Iterator[Path]:
    before = Path.cwd()
    with TemporaryDirectory() as folder:
        root = Path(folder)
        (root / "recipes").mkdir()
        for model in MODELS:
            _edit(root, model)
            write_recipe(root, model)
        os.chdir(root)
        try:
            yield root
        finally:
            os.chdir(before)
