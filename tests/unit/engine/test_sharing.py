"""Which remote cache a build uses, by settings, environment and trust."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.engine.records import Records
from qnnbuild.engine.sharing import remote_store
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import Store
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.model.remote_cache import READ, WRITE, RemoteCache

STRANGER = Trust(given=False, why="a pull request of the fork they/zoo")
OF_THE_REPO = RemoteCache(url="https://their.example", mode=WRITE)
OURS = {"QNNBUILD_REMOTE_CACHE": "https://ours.example"}


@pytest.fixture
def settled(tmp_path: Path):
    records = Records(tmp_path / "records.db", "here")
    store = Store(tmp_path / "store", Stats())

    def settings(environment: dict[str, str], trust: Trust) -> RemoteCache | None:
        return remote_store(OF_THE_REPO, environment, store, records, trust).settings

    yield settings
    records.close()


def test_a_repo_that_is_trusted_names_its_cache(settled):
    assert settled({}, TRUSTED) == OF_THE_REPO


def test_the_cache_of_a_stranger_is_left_alone(settled, capsys):
    assert settled({}, STRANGER) is None
    assert capsys.readouterr().err == (
        "warning: the remote cache of qnnbuild.yaml is left alone: this repo is not trusted\n"
        "  not trusted: a pull request of the fork they/zoo\n"
        "  hint: a cache that may be read is named in the environment: QNNBUILD_REMOTE_CACHE\n"
    )


@pytest.mark.parametrize("mode", [READ, WRITE])
def test_a_stranger_only_reads_the_cache_of_the_environment(settled, mode):
    asked = OURS | {"QNNBUILD_REMOTE_CACHE_MODE": mode}

    assert settled(asked, STRANGER) == RemoteCache(url="https://ours.example", mode=READ)
    assert settled(asked, TRUSTED).mode == mode
