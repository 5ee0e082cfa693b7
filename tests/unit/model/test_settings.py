"""qnnbuild.yaml."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.sdks import Sdk
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


def test_versions_of_the_sdk_are_read_as_written_and_looked_up_by_nobody() -> None:
    settings = read_settings(
        "toolchains:\n  qairt-2.40:\n    root: ${SDK}/2.40\n    ndk: ~/ndk\n"
        "  qairt-2.49.0.260730: {root: sdk, python: python3.10}\n"
    )

    assert settings.toolchains == {}
    assert settings.sdks == {
        "qairt-2.40": Sdk(name="qairt-2.40", root="${SDK}/2.40", ndk="~/ndk"),
        "qairt-2.49.0.260730": Sdk(name="qairt-2.49.0.260730", root="sdk"),
    }
    assert [sdk.version for sdk in settings.sdks.values()] == ["2.40", "2.49.0.260730"]
