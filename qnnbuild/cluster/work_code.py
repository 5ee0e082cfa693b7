"""Which code answers requests: a worker with other code would make something else under a key."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from qnnbuild.engine.identity import Identity

ANSWERS = "code:qnnbuild.cluster.worker"


def code_of(identity: Identity) -> str:
    """The release, and the digest of all modules of qnnbuild that a worker answers with."""
    try:
        release = version("qnnbuild")
    except PackageNotFoundError:  # a checkout on PYTHONPATH
        release = "checkout"
    return f"{release} {identity.measure(ANSWERS)}"


def same_code(one: str, other: str) -> bool:
    """The digest decides; a release is for people to read."""
    return one.rpartition(" ")[2] == other.rpartition(" ")[2]


def shown(code: str) -> str:
    release, _, digest = code.rpartition(" ")
    return f"{release} {digest[: len('sha256:') + 12]}"
