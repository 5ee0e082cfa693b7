"""Logins of this machine: what an action of a stranger's repo is given has none of them."""

from __future__ import annotations

import os

import pytest
from huggingface_hub import constants, get_token

from qnnbuild.engine.outside import asks_for_login, outside
from qnnbuild.engine.trust import TRUSTED, Trust

STRANGER = Trust(given=False, why="a test says so")
LOGINS = {
    "NETRC": "/me/netrc",
    "HF_TOKEN": "hf_1",
    "HUGGING_FACE_HUB_TOKEN": "hf_2",
    "HF_TOKEN_PATH": "/me/token",
    "HF_OIDC_RESOURCE": "https://hub.example",
    "PIP_INDEX_URL": "https://me:word@index.example/simple",
    "PIP_EXTRA_INDEX_URL": "https://me:word@a.example/simple http://b.example/simple",
    "PIP_CLIENT_CERT": "/me/cert.pem",
    "PIP_KEYRING_PROVIDER": "subprocess",
    "QNNBUILD_REMOTE_CACHE_TOKEN": "t",
    "QNNBUILD_SIGNING_PASSWORD": "word",
}
OTHERS = {
    "HOME": "/me",
    "PATH": "/usr/bin",
    "HF_ENDPOINT": "https://hub.example",
    "https_proxy": "http://me:word@proxy.example:3128",
}


def test_a_strangers_repo_gets_no_login_and_all_else():
    assert outside(STRANGER, LOGINS | OTHERS) == {
        **OTHERS,
        "NETRC": os.devnull,
        "HF_TOKEN_PATH": os.devnull,
        "HF_STORED_TOKENS_PATH": os.devnull,
        "HF_HUB_DISABLE_IMPLICIT_TOKEN": "1",
        "PIP_INDEX_URL": "https://index.example/simple",
        "PIP_EXTRA_INDEX_URL": "https://a.example/simple http://b.example/simple",
        "PIP_KEYRING_PROVIDER": "disabled",
    }


def test_a_trusted_repo_gets_everything():
    assert outside(TRUSTED, LOGINS | OTHERS) == LOGINS | OTHERS


def test_the_hub_finds_no_token_in_what_is_left(tmp_path, monkeypatch):
    (tmp_path / "token").write_text("hf_3")
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", str(tmp_path / "token"))
    for name in LOGINS:
        monkeypatch.delenv(name, raising=False)

    assert get_token() == "hf_3"  # what stands on the disk is found where nothing is said

    left = outside(STRANGER, LOGINS)
    for name, value in left.items():
        monkeypatch.setenv(name, value)
    for name in ("HF_TOKEN_PATH", "HF_STORED_TOKENS_PATH"):  # read when it is imported
        monkeypatch.setattr(constants, name, left[name])

    assert get_token() is None


def test_an_address_that_is_none_keeps_no_login_either():
    left = outside(STRANGER, {"PIP_INDEX_URL": "https://me:word@[::1"})

    assert left["PIP_INDEX_URL"] == "[::1"


@pytest.mark.parametrize(
    ("hint", "asks"),
    [
        ("a login for this host goes into ~/.netrc", True),
        ("log in with `hf auth login`, or put a token into HF_TOKEN", True),
        ("the file was moved or removed, or the URL has a typo", False),
        (None, False),
    ],
)
def test_hints_that_ask_for_a_login_are_known(hint, asks):
    assert asks_for_login(hint) is asks
