"""What is read of a repo, and what of a repo of strangers is not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qnnbuild.errors import NotTrusted, QnnbuildError, RecipeError
from qnnbuild.repo import open_toolchains, read, settings_of, store_folder
from qnnbuild.text.decode import MAX_BYTES


@pytest.fixture
def strange(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repo that is not trusted."""
    monkeypatch.setenv("QNNBUILD_TRUST", "no")
    monkeypatch.delenv("QNNBUILD_STORE", raising=False)
    (tmp_path / "repo" / "recipes").mkdir(parents=True)
    return tmp_path / "repo"


def said(error: QnnbuildError) -> str:
    return error.problems[0].message


@pytest.mark.parametrize("name", ["qnnbuild.yaml", "recipes/a.yaml"])
def test_a_link_to_a_file_beside_the_repo_is_not_followed(strange, name):
    secret = strange.parent / "secret"
    secret.write_text("password: 1234")
    (strange / name).symlink_to(secret)
    with pytest.raises(NotTrusted) as caught:
        read(strange, name)

    assert said(caught.value) == f"{name} lies outside of this repo, which is not trusted"
    assert dict(caught.value.problems[0].facts)["it is"] == str(secret)


def test_a_link_inside_of_the_repo_is_followed(strange):
    (strange / "shared.yaml").write_text("model: m")
    (strange / "recipes" / "a.yaml").symlink_to("../shared.yaml")

    assert read(strange, "recipes/a.yaml") == b"model: m"


def test_a_device_is_not_read_for_ever(tmp_path):
    (tmp_path / "qnnbuild.yaml").symlink_to("/dev/zero")
    with pytest.raises(RecipeError) as caught:
        settings_of(tmp_path)

    assert said(caught.value) == "qnnbuild.yaml is no file, but a folder or a device"


def test_no_more_is_read_than_a_recipe_may_have(tmp_path):
    with (tmp_path / "big.yaml").open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)

    assert len(read(tmp_path, "big.yaml")) == MAX_BYTES + 1


@pytest.mark.parametrize("store", ["../other", "/tmp/other"])
def test_the_store_of_a_stranger_stays_in_its_repo(strange, store):
    (strange / "qnnbuild.yaml").write_text(f"store: {store}\n")
    with pytest.raises(NotTrusted) as caught:
        store_folder(strange)

    assert said(caught.value) == "the store lies outside of this repo, which is not trusted"
    assert str(caught.value.problems[0].at) == "qnnbuild.yaml:1:1"


def test_the_environments_store_may_be_anywhere(strange, tmp_path, monkeypatch):
    monkeypatch.setenv("QNNBUILD_STORE", str(tmp_path / "anywhere"))

    assert store_folder(strange) == tmp_path / "anywhere"


def test_a_toolchain_of_a_stranger_is_not_imported(strange):
    (strange / "qnnbuild.yaml").write_text('toolchains: {mine: {plugin: "evil:TOOLS"}}\n')
    (strange / "evil.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(NotTrusted) as caught:
        open_toolchains(strange)

    told = "the toolchain 'mine' is code of this repo, which is not trusted"
    assert said(caught.value) == told
    assert str(caught.value.problems[0].at) == "qnnbuild.yaml:1:14"
