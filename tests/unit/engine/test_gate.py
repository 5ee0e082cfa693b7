"""The gate: what opens it, what shuts it, and what it never believes."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.engine import gate, glance
from tests.unit.engine.checkout import TICK_S, Checkout, checkout_in


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return checkout_in(tmp_path, monkeypatch)


def test_without_a_gate_everything_is_looked_at(checkout: Checkout) -> None:
    seen = checkout.look()

    assert (seen.recipes, seen.is_shut, seen.closed) == (None, False, {})


def test_with_a_key_that_signs_everything_is_looked_at(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another key, or another one in the same file, has to sign what is there."""
    monkeypatch.setenv("QNNBUILD_SIGNING_KEY", "one.pem")
    checkout.shut()

    assert checkout.look().recipes is None


def test_looking_writes_nothing(checkout: Checkout) -> None:
    before = sorted(checkout.root.rglob("*"))
    checkout.look()

    assert sorted(checkout.root.rglob("*")) == before


def test_one_build_is_not_enough_to_shut_it(checkout: Checkout) -> None:
    """Nobody knows what the files were when the first build began."""
    checkout.build()

    assert checkout.look().recipes is None


def test_a_build_that_found_nothing_to_do_shuts_it(checkout: Checkout) -> None:
    checkout.shut()
    seen = checkout.look()

    assert seen.is_shut
    assert {name: group.names for name, group in seen.closed.items()} == {
        "a": ["x/a", "y/a"],
        "b": ["x/b", "y/b"],
    }
    assert [(g.actions, g.saved_s) for g in seen.closed.values()] == [(2, 5.0), (2, 5.0)]


def _edit(root: Path) -> None:
    (root / "b.onnx").write_text("other")


def _touch(root: Path) -> None:
    (root / "b.onnx").touch()


def _edit_and_set_the_time_back(root: Path) -> None:
    before = (root / "b.onnx").stat()
    (root / "b.onnx").write_text("B")
    os.utime(root / "b.onnx", ns=(before.st_atime_ns, before.st_mtime_ns))


def _replace_with_an_older_file(root: Path) -> None:
    before = (root / "b.onnx").stat()
    (root / "new").write_text("b")
    os.utime(root / "new", ns=(before.st_atime_ns, before.st_mtime_ns))
    (root / "new").rename(root / "b.onnx")


def _delete_what_was_made(root: Path) -> None:
    (root / "build/b.bin").unlink()


def _put_a_folder_in_its_place(root: Path) -> None:
    (root / "build/b.bin").unlink()
    (root / "build/b.bin").mkdir()


def _edit_the_recipe(root: Path) -> None:
    (root / "recipes/b.yaml").write_text("other")


@pytest.mark.parametrize(
    "change",
    [
        _edit,
        _touch,
        _edit_and_set_the_time_back,
        _replace_with_an_older_file,
        _delete_what_was_made,
        _put_a_folder_in_its_place,
        _edit_the_recipe,
    ],
)
def test_a_change_opens_its_own_model_only(
    checkout: Checkout, change: Callable[[Path], None]
) -> None:
    checkout.shut()
    change(checkout.root)
    seen = checkout.look()

    assert seen.recipes == ("recipes/b.yaml",)
    assert list(seen.closed) == ["a"]


def test_after_a_touch_one_build_shuts_it_again(checkout: Checkout) -> None:
    checkout.shut()
    _touch(checkout.root)
    checkout.build()

    assert checkout.look().is_shut


def test_what_was_made_just_now_is_looked_at_once_more(checkout: Checkout) -> None:
    checkout.shut()
    _edit(checkout.root)
    checkout.build("b")
    after_one = checkout.look().recipes
    checkout.build()

    assert after_one == ("recipes/b.yaml",)
    assert checkout.look().is_shut


def test_a_fresh_time_stamp_is_not_believed(checkout: Checkout) -> None:
    """A second write within one tick of the kernel's clock would leave the same times."""
    checkout.shut()
    _touch(checkout.root)
    checkout.keep(checkout.look())

    assert checkout.look().recipes == ("recipes/b.yaml",)


def test_a_file_that_changes_during_a_build_stays_open(checkout: Checkout) -> None:
    checkout.build()
    time.sleep(TICK_S)
    seen = checkout.look()
    _touch(checkout.root)
    time.sleep(TICK_S)
    checkout.keep(seen)

    assert checkout.look().recipes == ("recipes/b.yaml",)


def test_a_new_recipe_is_looked_at_and_no_other(checkout: Checkout) -> None:
    checkout.shut()
    checkout.write("recipes/c.yaml", "c")

    assert checkout.look().recipes == ("recipes/c.yaml",)


def test_a_yaml_file_that_is_no_recipe_is_looked_at_once(checkout: Checkout) -> None:
    checkout.shut()
    checkout.write("recipes/notes.yaml", "")
    first = checkout.build().recipes

    assert first == ("recipes/notes.yaml",)
    assert checkout.look().is_shut


def test_a_recipe_that_is_gone_opens_everything(checkout: Checkout) -> None:
    """Its bundles have to leave build/ and the index."""
    checkout.shut()
    (checkout.root / "recipes/a.yaml").unlink()

    assert checkout.look().recipes is None


@pytest.mark.parametrize("path", ["qnnbuild.yaml", "chips.yaml", "build/index.json"])
def test_a_change_of_what_all_share_opens_everything(checkout: Checkout, path: str) -> None:
    checkout.shut()
    checkout.write(path, "other")
    seen = checkout.look()

    assert (seen.recipes, seen.closed) == (None, {})


def test_another_environment_opens_everything(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.shut()
    monkeypatch.setenv("QAIRT_SDK_ROOT", "/elsewhere")

    assert checkout.look().recipes is None


def test_our_own_code_is_among_what_all_share(tmp_path: Path) -> None:
    own = set(gate.own_files())

    assert gate.__file__ in own
    assert any(path.endswith("chips.yaml") for path in own)


def test_a_gate_that_someone_else_wrote_meanwhile_stands(checkout: Checkout) -> None:
    """A second build knows other things, and `doit forget` takes the gate away on purpose."""
    checkout.shut()
    seen = checkout.look()
    gate.forget(checkout.root)
    checkout.keep(seen)

    assert not gate.gate_file(checkout.root).exists()


def test_a_build_of_some_keeps_the_files_that_the_others_share(checkout: Checkout) -> None:
    checkout.shut()
    _touch(checkout.root)
    time.sleep(TICK_S)
    gate.keep(
        checkout.look(), [], common=[], folders=["recipes"], recipes=["recipes/b.yaml"], finished=[]
    )
    checkout.write("chips.yaml", "other")

    assert checkout.look().recipes is None


def test_a_checkouts_gate_stays_in_it_when_the_store_is_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QNNBUILD_STORE", str(tmp_path / "store"))

    assert gate.gate_file(tmp_path / "one") == tmp_path / "one" / ".qnnbuild" / "gate"


def test_another_store_opens_the_gate(checkout: Checkout, monkeypatch: pytest.MonkeyPatch) -> None:
    checkout.shut()
    monkeypatch.setenv("QNNBUILD_STORE", "elsewhere")

    assert checkout.look().recipes is None


def test_a_link_to_itself_beside_the_recipes_hides_none(checkout: Checkout) -> None:
    (checkout.root / "recipes/loop").symlink_to("loop")

    assert glance.names_in(checkout.root, "recipes") == ["a.yaml", "b.yaml"]


def test_a_gate_that_finds_no_room_on_the_disk_stays_as_it_was(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    checkout.keep(checkout.look())
    before = gate.gate_file(checkout.root).read_bytes()
    checkout.write("a.onnx", "other")
    monkeypatch.setattr(Path, "write_bytes", full)
    checkout.keep(checkout.look())

    assert gate.gate_file(checkout.root).read_bytes() == before
