"""Many builds of one store at the same time, beside those that keep it: as one after the other."""

from __future__ import annotations

import os
import signal
import sqlite3
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.places import RECORDS
from tests.laws.counts import chance, runs
from tests.laws.processes import Forks, Going
from tests.laws.repo import NODES, Lasting, LawRepo
from tests.laws.world import Node

pytestmark = pytest.mark.long_file(seconds=30)

PLANS = 5
OLD = PLANS
"""The plan of a checkout that is gone: what it made may be collected, and is built again."""

BUILDERS_OF_A_CHECKOUT = 4
GARBAGE = ("store", "gc", "--keep-days", "0")
VERIFY = ("store", "verify")
DAY_S = 86_400
MOST_CHANGES = 450
"""More than a build of all works makes: some that are to be killed come through."""


def nodes(plan: int) -> tuple[Node, ...]:
    """Two works that all plans have but the old one, and two of its own."""
    common = (
        NODES[:2] if plan != OLD else (Node("s-old", ("a", "b")), Node("t-old", ((0, "o"), "c")))
    )
    own, late = Node(f"own-{plan}", ((0, "p"), "a")), Node(f"late-{plan}", ((1, "o"), (2, "o")))
    return (*common, own, late)


@dataclass(frozen=True)
class Crowd:
    """Checkouts that share a store, and one count of what ran."""

    folder: Path
    lasting: Lasting
    forks: Forks
    clean: Mapping[int, Mapping[str, bytes]]

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def checkout(self, name: str, plan: int) -> LawRepo:
        repo = LawRepo.make(self.folder / name, self.lasting, self.forks, nodes(plan))
        (repo.root / "counter").symlink_to(self.folder / "counter")
        return repo

    def begin_build(self, repo: LawRepo, number: int, deadly: int) -> Going:
        said = self.folder / f"build-{number}.txt"
        return self.forks.build(repo.root, said, deadly=deadly, env=self.environment)

    def begin(self, repo: LawRepo, number: int, words: tuple[str, ...]) -> Going:
        said = self.folder / f"{words[1]}-{number}.txt"
        return self.forks.command(repo.root, said, *words, env=self.environment)

    @property
    def environment(self) -> dict[str, str]:
        return {"QNNBUILD_STORE": str(self.store)}

    def ran(self) -> list[str]:
        return (self.folder / "counter").read_text().split()

    def records(self) -> dict[str, str]:
        """Key → the salt of its work."""
        db = sqlite3.connect(self.store / RECORDS)
        try:
            rows = db.execute("select key, record from records").fetchall()
        finally:
            db.close()
        return {key: str(Record.from_json(text).parts["params"]["salt"]) for key, text in rows}  # type: ignore[index, call-overload] # of our actions


@pytest.fixture(scope="module")
def clean(
    lasting: Lasting, builders: Forks, tmp_path_factory: pytest.TempPathFactory
) -> dict[int, Mapping[str, bytes]]:
    """What each plan ships that is built alone."""
    shipped: dict[int, Mapping[str, bytes]] = {}
    for plan in range(PLANS + 1):
        repo = LawRepo.make(tmp_path_factory.mktemp("clean") / "r", lasting, builders, nodes(plan))
        done = repo.build()
        assert done.code == 0, done.said
        shipped[plan] = repo.shipped()
    return shipped


@pytest.fixture
def crowd(
    lasting: Lasting,
    builders: Forks,
    clean: dict[int, Mapping[str, bytes]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Crowd:
    """In its store is what a checkout made that is gone, and so long ago that it may be taken."""
    crowd = Crowd(tmp_path, lasting, builders, clean)
    for name, value in crowd.environment.items():
        monkeypatch.setenv(name, value)
    old = crowd.checkout("old", OLD)
    assert old.build().code == 0
    old.root.rename(tmp_path / "moved")
    for path in crowd.store.rglob("*"):
        if path.is_file() and "artifacts" in path.parts:
            os.utime(path, (time.time() - DAY_S, time.time() - DAY_S))
    (tmp_path / "counter").write_text("")
    return crowd


def checkouts(crowd: Crowd, builds: int, plans: int) -> list[tuple[LawRepo, int]]:
    count = max(plans, builds // BUILDERS_OF_A_CHECKOUT)
    return [(crowd.checkout(f"checkout-{n}", n % plans), n % plans) for n in range(count)]


def keeping(crowd: Crowd, repo: LawRepo, number: int) -> list[Going]:
    """Of ten builds two have somebody beside them who keeps the store."""
    words = {3: GARBAGE, 8: VERIFY}.get(number % 10)
    return [crowd.begin(repo, number, words)] if words else []


def held(crowd: Crowd, repos: list[tuple[LawRepo, int]]) -> None:
    """All is as a clean build makes it, nothing runs any more, and the store is whole."""
    for repo, plan in repos:
        done = repo.build()
        assert done.code == 0, done.said
        assert repo.shipped() == crowd.clean[plan], done.said
        assert list((repo.root / "build").rglob(".*")) == []
    ran = crowd.ran()
    for repo, _ in repos:
        assert repo.build().code == 0
    assert crowd.ran() == ran
    for number, words in enumerate((VERIFY, GARBAGE)):
        code, said = crowd.begin(repos[0][0], 10_000 + number, words).wait()
        assert code == 0, said
    left = [list((crowd.store / name).iterdir()) for name in ("tmp", "locks", "builds")]
    assert left == [[], [], []]


def test_many_builders_of_one_store_do_each_work_once(crowd: Crowd) -> None:
    builds = runs(8, 200)
    repos = checkouts(crowd, builds, PLANS)
    going, beside = [], []
    for number in range(builds):
        repo, _ = repos[number % len(repos)]
        going.append(crowd.begin_build(repo, number, 0))
        beside += keeping(crowd, repo, number)
    for one in (*going, *beside):
        code, said = one.wait()
        assert code == 0, said

    for repo, plan in repos:
        assert repo.shipped() == crowd.clean[plan]
    made = Counter(crowd.ran())
    assert made == {"s": 1, "t": 1, "bundle": PLANS} | {
        node.salt: 1 for plan in range(PLANS) for node in nodes(plan)[2:]
    }
    held(crowd, repos)
    assert Counter(crowd.ran()) == made


def test_builders_that_are_killed_disturb_no_others(crowd: Crowd) -> None:
    chosen = chance("many builders")
    builds = runs(8, 200)
    repos = checkouts(crowd, builds, PLANS + 1)
    deadly = [chosen.randrange(1, MOST_CHANGES) * (chosen.random() < 1 / 3) for _ in range(builds)]
    going, beside = [], []
    for number, point in enumerate(deadly):
        repo, _ = repos[number % len(repos)]
        going.append(crowd.begin_build(repo, number, point))
        beside += keeping(crowd, repo, number)
    ended = [one.wait() for one in going]
    for one in beside:
        code, said = one.wait()
        assert code == 0, said

    for (code, said), point in zip(ended, deadly, strict=True):
        assert code == 0 or (point and code == -signal.SIGKILL), said
    disturbed = {n % len(repos) for n, (code, _) in enumerate(ended) if code}
    assert disturbed
    for number, (repo, plan) in enumerate(repos):
        # what the old plan made may have been collected after it was built: the index lacks it
        if number not in disturbed and plan != OLD:
            assert repo.shipped() == crowd.clean[plan]
    recorded, ran = crowd.records(), len(crowd.ran())
    held(crowd, repos)
    made_again = Counter(crowd.ran()[ran:])
    new = Counter(salt for key, salt in crowd.records().items() if key not in recorded)
    assert made_again == new
