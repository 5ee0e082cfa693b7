"""qnnbuild.yaml."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.settings import Plugin, Settings, read_settings

USUAL = Settings(recipes=("recipes/**/*.yaml",), chips="chips.yaml")


@pytest.mark.parametrize("text", ["", "# all as usual\n", "---\n", b"\xef\xbb\xbf"])
def test_an_empty_file_means_all_as_usual(text: str | bytes) -> None:
    assert read_settings(text) == USUAL


def test_every_key_is_read() -> None:
    settings = read_settings(
        "recipes: [models/*.yaml, ./more/*.yaml]\nchips: data/chips.yaml\nstore: ~/store\n"
        "threads: 4\ntoolchains:\n  mine: {plugin: 'tools.mine:MINE', version: 2.40, fast: true}\n"
        "defaults: {license: MIT}\n"
    )

    assert settings.recipes == ("models/*.yaml", "more/*.yaml")
    assert (settings.chips, settings.store, settings.threads) == ("data/chips.yaml", "~/store", 4)
    assert settings.toolchains == {
        "mine": Plugin(
            name="mine", plugin="tools.mine:MINE", options={"version": 2.4, "fast": True}
        )
    }
    assert settings.defaults is not None
    assert list(settings.defaults.entries) == ["license"]


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(RecipeError) as caught:
        read_settings("threads: 0\nfoo: 1\nthreads: 2\n")

    assert [f"{p.at}: {p.message}" for p in caught.value.problems] == [
        "qnnbuild.yaml:1:10: 'threads' wants at least 1, not 0",
        "qnnbuild.yaml:2:1: unknown key 'foo'",
        "qnnbuild.yaml:3:1: 'threads' is there twice, in lines 1 and 3",
    ]
