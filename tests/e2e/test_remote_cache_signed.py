"""Over a real socket: who writes what to a cache, and whom a build believes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from qnnbuild.actions.record import Record
from qnnbuild.engine.result_signing import signature_of
from qnnbuild.engine.signing_keys import KEY, private_key
from qnnbuild.errors import Problem
from qnnbuild.remote import reapi_pb2
from tests.e2e.poison import put, record_in
from tests.e2e.remote_servers import PlainServer, plain_server
from tests.e2e.test_remote_cache_lies import SHIPPED, close, opened, remote
from tests.signing import minisign_keys, pem_keys
from tests.unit.engine.fake_world import CHAIN, make_all, ran

ALL = [one.name for one in CHAIN]
POISONED = "bundle/m(fetch/m(a))"
NO_KEY = (
    "nothing is shared with the remote cache: there is no key to sign with: "
    "QNNBUILD_REMOTE_CACHE_SIGNING_KEY is not set"
)
NOT_SIGNED = "the result of fetch/m in the remote cache is not signed by a key that is trusted"


class Team:
    """A server, and who builds with it: each in a folder and with keys of its own."""

    def __init__(self, server: PlainServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        self.secret, self.public = pem_keys(folder, "ours")

    def builds(
        self, name: str, *, key: str = "", trusted: tuple[Path, ...] = (), mode: str = "read"
    ) -> tuple[list[str], list[Problem], str]:
        """What ran, what was told, and what ships."""
        told: list[Problem] = []
        keys = tuple(map(str, trusted))
        using = remote(
            self.server.url, told, mode=mode, trusted=keys, QNNBUILD_REMOTE_CACHE_SIGNING_KEY=key
        )
        builder = opened(self.folder / name, using)
        make_all(builder)
        builder.finish()
        close(builder)
        return ran(builder), told, (self.folder / name / "build/m/SM8750/o.txt").read_text()

    def shares(self, key: str = "") -> None:
        self.builds("there", key=key, mode="read-write")

    def poison(self) -> Record:
        """What context made is said to be what fetch made."""
        other = record_in(self.server, "fetch").outputs
        record = replace(record_in(self.server, "context"), outputs=other)
        put(self.server, record)
        return record

    def signed(self, record: Record, key: str) -> bytes:
        return signature_of(private_key({KEY: key}), record.key, record.to_json().encode())


@pytest.fixture
def team(tmp_path: Path) -> Iterator[Team]:
    with plain_server() as server:
        yield Team(server, tmp_path)


@pytest.mark.parametrize("kind", ["ed25519", "ecdsa", "minisign"])
def test_what_is_signed_by_a_trusted_key_is_taken(team: Team, kind: str) -> None:
    made = minisign_keys if kind == "minisign" else pem_keys
    secret, public = made(team.folder, kind, *([kind] if made is pem_keys else []))
    team.shares(secret)

    assert team.builds("here", trusted=(public,)) == ([], [], SHIPPED)


def test_each_of_several_keys_is_trusted(team: Team) -> None:
    """So that one can be changed for another."""
    old, public = minisign_keys(team.folder, "old")
    team.shares(old)

    assert team.builds("here", trusted=(team.public, public)) == ([], [], SHIPPED)


def test_what_nobody_signed_is_made_here_and_told_once(team: Team) -> None:
    team.shares()
    made, told, shipped = team.builds("here", trusted=(team.public,))

    assert (made, shipped) == (ALL, SHIPPED)
    assert [problem.message for problem in told] == [NOT_SIGNED]
    assert told[0].facts[1:] == (("signed by", "nobody"),)


def test_who_trusts_nobody_takes_what_is_signed(team: Team) -> None:
    team.shares(team.secret)

    assert team.builds("here") == ([], [], SHIPPED)


def test_without_trusted_keys_a_poisoned_result_is_believed(team: Team) -> None:
    """The limit that docs/reliability.md tells of, and what keys are for."""
    team.shares()
    team.poison()
    _, told, shipped = team.builds("here")

    assert (told, shipped) == ([], POISONED)


@pytest.mark.parametrize("by", ["nobody", "a stranger", "us, of another"])
def test_a_poisoned_result_is_refused(team: Team, by: str) -> None:
    team.shares(team.secret)
    good = record_in(team.server, "context")
    record = team.poison()
    stranger, _ = pem_keys(team.folder, "stranger")
    signatures = {"a stranger": (record, stranger), "us, of another": (good, team.secret)}
    signed = team.signed(*signatures[by]) if by in signatures else None
    put(team.server, record, signed)
    made, told, shipped = team.builds("here", trusted=(team.public,))

    # what it stands on is made as well: fetched were records, and the cache is still believed
    assert (made, shipped) == (["context/m"], SHIPPED)
    assert [problem.message for problem in told] == [NOT_SIGNED.replace("fetch", "context")]


def test_who_signs_puts_a_good_result_in_the_place_of_a_bad_one(team: Team) -> None:
    team.shares(team.secret)
    team.poison()
    both = {"key": team.secret, "trusted": (team.public,)}
    team.builds("here", mode="read-write", **both)  # type: ignore[arg-type] # as they are asked for

    assert team.builds("elsewhere", trusted=(team.public,)) == ([], [], SHIPPED)


def test_who_believes_only_keys_shares_nothing_without_one(team: Team) -> None:
    made, told, _ = team.builds("here", trusted=(team.public,), mode="read-write")

    assert (made, team.server.kept) == (ALL, {})
    assert [problem.message for problem in told] == [NO_KEY]


def test_a_server_that_keeps_no_contents_in_results_gives_the_signature_as_a_file(
    team: Team,
) -> None:
    team.shares(team.secret)
    for path, contents in team.server.kept.items():
        if path.startswith("/ac/"):
            result = reapi_pb2.ActionResult.FromString(contents)
            for file in result.output_files:
                file.contents = b""
            team.server.kept[path] = result.SerializeToString()

    assert team.builds("here", trusted=(team.public,)) == ([], [], SHIPPED)


def test_a_private_key_is_sent_nowhere(team: Team) -> None:
    team.shares(team.secret)
    secret = team.secret.splitlines()[1].encode()

    assert not any(secret in contents for contents in team.server.kept.values())
    assert not any(secret in path.read_bytes() for path in team.folder.rglob("*") if path.is_file())
