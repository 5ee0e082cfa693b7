"""The locks hold names, versions and digests, and nothing of the machine that wrote them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = (
    *("requirements.lock", "requirements-dev.lock", "requirements-docs.lock"),
    "image/requirements-sdk-2.40.lock",
)
PIN = re.compile(r"^([a-z0-9][a-z0-9.-]*)==([0-9][^\s;]*)(?: ; [^\\\n]+)? \\$", re.MULTILINE)
"""A name, a version, and where the pin does not always count, a condition."""
DIGEST = re.compile(r"    --hash=sha256:[0-9a-f]{64}( \\)?")


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_has_names_versions_and_digests_only(lock: str) -> None:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()

    assert [line for line in lines if not PIN.fullmatch(line) and not DIGEST.fullmatch(line)] == []


@pytest.mark.parametrize("lock", LOCKS)
def test_every_pin_has_a_digest(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    followed = re.findall(r"^(\S+)==[^\\\n]+ \\\n    --hash", text, re.MULTILINE)

    assert followed == list(pins(lock))


def test_both_locks_pin_the_same_versions() -> None:
    run, dev = pins("requirements.lock"), pins("requirements-dev.lock")

    assert run == {name: dev.get(name) for name in run}


def test_every_dependency_is_locked() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    build = names(project["build-system"]["requires"])
    run = names(project["project"]["dependencies"])
    dev = names([*extras["dev"], *extras["hub"]]) - {"qnnbuild"}

    assert (build | run) - set(pins("requirements.lock")) == set()
    assert (build | run | dev) - set(pins("requirements-dev.lock")) == set()
    assert names(extras["docs"]) - set(pins("requirements-docs.lock")) == set()


def test_a_command_starts_without_compiling_grammars() -> None:
    """jsonschema imports this where it is there: two seconds for each start of qnnbuild or doit."""
    assert "rfc3987-syntax" not in pins("requirements-dev.lock")


def pins(lock: str) -> dict[str, str]:
    return dict(PIN.findall((ROOT / lock).read_text(encoding="utf-8")))


def names(requirements: list[str]) -> set[str]:
    """Names as the index spells them: lower case, runs of -, _ and . as one -."""
    found = (re.match(r"[A-Za-z0-9._-]+", text) for text in requirements)
    return {re.sub(r"[-_.]+", "-", name.group()).lower() for name in found if name}
