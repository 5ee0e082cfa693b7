"""What of the build's own environment actions may be given: no logins in a repo of strangers.

Its recipes choose what is downloaded, and what is downloaded ships: with this machine's logins that
would be files which the machine's user may have and the stranger may not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from qnnbuild.engine.trust import Trust
from qnnbuild.model.secret_names import is_secret

NOBODY = {
    "NETRC": os.devnull,  # requests and pip read no ~/.netrc then
    "HF_TOKEN_PATH": os.devnull,
    "HF_STORED_TOKENS_PATH": os.devnull,
    "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
    "PIP_KEYRING_PROVIDER": "disabled",
}
"""Names the files and stores of logins that are looked into when nothing else is said."""

LOGINS = ("HF_OIDC_", "PIP_CLIENT_CERT")
"""How names of variables begin that are a login and do not say so."""

INDEXES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS")
"""Addresses of pip's, several in one, that may have a login in them."""

WORDS = ("netrc", "HF_TOKEN")
"""What hints of downloads name that ask for a login."""


def outside(trust: Trust, environment: Mapping[str, str]) -> dict[str, str]:
    """The environment that actions are let something through of."""
    if trust.given:
        return dict(environment)
    kept = {name: value for name, value in environment.items() if not _is_login(name)}
    bare = {name: _without_logins(kept[name]) for name in INDEXES if name in kept}
    return {**kept, **bare, **NOBODY}


def asks_for_login(hint: str | None) -> bool:
    return hint is not None and any(word in hint for word in WORDS)


def _is_login(name: str) -> bool:
    return is_secret(name) or name.startswith(LOGINS)


def _without_logins(addresses: str) -> str:
    return " ".join(map(_bare, addresses.split()))


def _bare(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:  # no address: pip says so
        return address.rpartition("@")[2]
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
