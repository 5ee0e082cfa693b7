"""Tokens and netrc."""

from __future__ import annotations

from base64 import b64encode
from pathlib import Path

import pytest

from qnnbuild.remote.cache import Trouble
from qnnbuild.remote.credentials import credentials

TOKEN = "QNNBUILD_REMOTE_CACHE_TOKEN"


@pytest.fixture
def netrc(tmp_path: Path) -> Path:
    path = tmp_path / "netrc"
    path.write_text("machine cache.example.com login me password geheim\n")
    path.chmod(0o600)
    return path


def test_a_token_goes_before_netrc(netrc: Path) -> None:
    known = {TOKEN: " abc ", "NETRC": str(netrc)}

    assert credentials("https://cache.example.com/x", known) == {"authorization": "Bearer abc"}


def test_netrc_knows_its_own_servers_only(netrc: Path) -> None:
    known = {"NETRC": str(netrc)}
    basic = "Basic " + b64encode(b"me:geheim").decode()

    assert credentials("grpcs://cache.example.com:443", known) == {"authorization": basic}
    assert credentials("https://other.example.com", known) == {}


def test_without_either_nobody_is_known(tmp_path: Path) -> None:
    assert credentials("https://a.b", {"NETRC": str(tmp_path / "none")}) == {}


@pytest.mark.parametrize("token", ["gehe\nim", "geheimß"])
def test_a_token_that_no_header_can_hold_is_told_without_it(token: str) -> None:
    with pytest.raises(Trouble) as caught:
        credentials("https://a.b", {TOKEN: token})

    assert "gehe" not in str(caught.value)


def test_a_broken_netrc_is_told_without_its_lines(netrc: Path) -> None:
    netrc.write_text("machine x login me passwort geheim\n")
    with pytest.raises(Trouble) as caught:
        credentials("https://a.b", {"NETRC": str(netrc)})

    assert str(caught.value) == "netrc cannot be read"


def test_a_server_s_own_header_takes_the_token_as_it_is() -> None:
    known = {TOKEN: "abc", "QNNBUILD_REMOTE_CACHE_HEADER": "X-BuildBuddy-API-Key"}

    assert credentials("grpcs://a.b", known) == {"x-buildbuddy-api-key": "abc"}


def test_a_header_that_is_none_is_refused() -> None:
    with pytest.raises(Trouble, match="QNNBUILD_REMOTE_CACHE_HEADER is no name of a header"):
        credentials("grpcs://a.b", {TOKEN: "abc", "QNNBUILD_REMOTE_CACHE_HEADER": "a: b"})
