"""What the laws about faults share: a server, and what a clean build ships."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.laws.counts import FULL, SEED
from tests.laws.processes import Forks, forks
from tests.laws.repo import Done, Lasting, LawRepo


def pytest_report_header() -> str:
    return f"laws: {'full' if FULL else 'few'} counts, QNNBUILD_LAWS_SEED={SEED}"


@pytest.fixture(scope="module")
def lasting() -> Iterator[Lasting]:
    workers = Lasting(path=sys.path)
    yield workers
    workers.end()


@pytest.fixture(scope="module")
def builders() -> Iterator[Forks]:
    with forks() as program:
        yield program


@dataclass(frozen=True)
class Law:
    """After a fault the next build ends well and ships what a clean one ships."""

    clean: Mapping[str, bytes]

    def holds(self, repo: LawRepo, done: Done, about: object = "") -> None:
        assert done.code == 0, (about, done.said)
        assert repo.shipped() == self.clean, (about, done.said)
        assert repo.build().ran == (), about


@pytest.fixture(scope="module")
def law(lasting: Lasting, builders: Forks, tmp_path_factory: pytest.TempPathFactory) -> Law:
    repo = LawRepo.make(tmp_path_factory.mktemp("clean") / "repo", lasting, builders)
    done = repo.build()
    assert done.code == 0, done.said
    return Law(repo.shipped())


@pytest.fixture
def repo(lasting: Lasting, builders: Forks, tmp_path: Path) -> LawRepo:
    """Nothing is built in it."""
    return LawRepo.make(tmp_path / "repo", lasting, builders)
