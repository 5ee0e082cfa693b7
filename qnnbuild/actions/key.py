"""The key: the digest of all that can change what an action makes."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.actions.action import Action
from qnnbuild.digest import Digest, Json, digest_json, plain

KEY_VERSION = 1
"""Raised when the meaning of a key changes; CHANGELOG.md says so under Rebuilds."""


def key_parts(
    action: Action, inputs: Mapping[str, Digest], tool: Mapping[str, str]
) -> dict[str, Json]:
    """What the key is made of. The name is not: two names, one work, one run.

    `inputs` are digests of contents and `tool` is what `action.tools` and the code of
    `action.call` measured to on this machine.
    """
    parts: dict[str, Json] = {
        "key_version": KEY_VERSION,
        "step": action.step,
        "call": action.call,
        "argv": action.argv,
        "params": action.params,
        "inputs": inputs,
        "outputs": action.outputs,
        "tool": tool,
        "env": action.env,
    }
    # as a record gives them back, so that `why` compares like with like: a tuple is a list there
    return {name: plain(part) for name, part in parts.items()}


def key_of(parts: Mapping[str, Json]) -> Digest:
    return digest_json(parts)
