"""Tokens and netrc."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from qnnbuild.remote.cache import Trouble
from qnnbuild.remote.credentials import authorization

TOKEN = "QNNBUILD_REMOTE_CACHE_TOKEN"


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    path = tmp_path / "netrc"
    path.write_text("machine cache.example.com login me password geheim\n")
    path.chmod(0o600)
    return path


def test_a_token_goes_before_netrc(netrc: Path) -> None:
    known = {TOKEN: " abc ", "NETRC": str(netrc)}

    assert authorization("https://cache.example.com/x", known) == "Bearer abc"


def test_netrc_knows_its_own_servers_only(netrc: Path) -> None:
    known = {"NETRC": str(netrc)}
    basic = "Basic " + b64encode(b"me:geheim").decode()

    assert authorization("grpcs://cache.example.com:443", known) == basic
    assert authorization("https://other.example.com", known) is None


def test_without_either_nobody_is_known(tmp_path: Path) -> None:
    assert authorization("https://a.b", {"NETRC": str(tmp_path / "none")}) is None


@pytest.mark.parametrize("token", ["gehe\nim", "geheimß"])
def test_a_token_that_no_header_can_hold_is_told_without_it(token: str) -> None:
    with pytest.raises(Trouble) as caught:
        authorization("https://a.b", {TOKEN: token})

    assert "gehe" not in str(caught.value)


def test_a_broken_netrc_is_told_without_its_lines(netrc: Path) -> None:
    netrc.write_text("machine x login me passwort geheim\n")
    with pytest.raises(Trouble) as caught:
        authorization("https://a.b", {"NETRC": str(netrc)})

    assert str(caught.value) == "netrc cannot be read"
