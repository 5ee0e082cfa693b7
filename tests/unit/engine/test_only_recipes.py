"""What of the command line a build of nothing needs no doit for."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from qnnbuild.engine import gate, only_recipes
from qnnbuild.engine.only_recipes import nothing_to_do, says_nothing_else
from tests.unit.engine.checkout import TICK_S, Checkout, checkout_in


@pytest.mark.parametrize(
    ("words", "nothing_else"),
    [
        ("", True),
        ("-n 4", True),
        ("-n4 -c", True),
        ("--process 4 --continue", True),
        ("--process=4", True),
        ("-n", False),
        ("-n x", False),
        ("4", False),
        ("-a", False),
        ("bundle/m@A", False),
        ("-r zero", False),
        ("run", False),
    ],
)
def test_words_that_only_say_how_to_build_need_no_doit(words: str, nothing_else: bool) -> None:
    assert says_nothing_else(words.split()) == nothing_else


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """Shut, and with a note that there is nothing but recipes."""
    found = checkout_in(tmp_path, monkeypatch)
    found.shut()
    only_recipes.note(tmp_path, only_recipes.signatures(tmp_path))
    return found


def asked(checkout: Checkout) -> str | None:
    return nothing_to_do(str(checkout.root), [], time.monotonic(), print)


def test_nothing_to_do_is_told(checkout: Checkout) -> None:
    assert asked(checkout) == "nothing to do: reused 4; took 0.0 s, saved 10 s\n"
    assert only_recipes.seen(checkout.root) is None


def test_what_a_glance_saw_counts_once_for_the_build_that_follows(checkout: Checkout) -> None:
    checkout.write("b.onnx", "other")

    assert asked(checkout) is None
    seen = only_recipes.seen(checkout.root)
    assert seen is not None
    assert gate.look(checkout.root, seen).recipes == ("recipes/b.yaml",)
    assert only_recipes.seen(checkout.root) is None


def test_who_has_just_seen_that_there_is_work_does_not_look_again(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkout.write("b.onnx", "other")
    asked(checkout)
    with monkeypatch.context() as patch:
        patch.setattr(only_recipes, "glance", None)

        assert asked(checkout) is None
    only_recipes.seen(checkout.root)


def test_a_repo_without_anything_to_build_is_for_doit_to_tell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = checkout_in(tmp_path, monkeypatch)
    for recipe in empty.recipes():
        (tmp_path / recipe).unlink()
    for _ in range(2):
        time.sleep(TICK_S)
        empty.keep(gate.look(tmp_path))
    only_recipes.note(tmp_path, only_recipes.signatures(tmp_path))

    assert gate.look(tmp_path).is_shut
    assert asked(empty) is None
    only_recipes.seen(tmp_path)


def test_where_only_the_end_of_a_build_came_back_there_was_nothing_to_do(
    checkout: Checkout,
) -> None:
    (checkout.root / "build/index.json").unlink()

    assert asked(checkout) == "nothing to do: reused 4; took 0.0 s, saved 10 s\n"
    assert (checkout.root / "build/index.json").exists()


def test_what_a_glance_saw_does_not_count_once_something_was_put_back(checkout: Checkout) -> None:
    """One of two ends, and of the other there is no copy."""
    (checkout.root / "build/index.json").unlink()
    (checkout.root / "build/report.html").unlink()
    (checkout.root / ".qnnbuild/ends/report.html").unlink()

    assert asked(checkout) is None
    assert (checkout.root / "build/index.json").exists()
    assert only_recipes.seen(checkout.root) is None
