"""`remote_cache:` of qnnbuild.yaml and its variables."""

from __future__ import annotations

import pytest

from qnnbuild.errors import RecipeError
from qnnbuild.model.remote_cache import RemoteCache, with_environment
from qnnbuild.model.settings import read_settings
from qnnbuild.text.render import terminal

URL, MODE = "QNNBUILD_REMOTE_CACHE", "QNNBUILD_REMOTE_CACHE_MODE"
OURS = RemoteCache(url="grpc://cache:9092", mode="read-write", instance="main", timeout_s=3.0)


def refused(text: str) -> str:
    with pytest.raises(RecipeError) as caught:
        read_settings(text)
    return terminal(caught.value.problems)


def test_every_key_is_read() -> None:
    settings = read_settings(
        "remote_cache: {url: 'grpc://cache:9092/', mode: read-write, instance: main, timeout: 3}\n"
    )

    assert settings.remote_cache == OURS


def test_it_is_read_only_unless_said_otherwise() -> None:
    found = read_settings("remote_cache: {url: 's3://bucket/folder'}\n").remote_cache

    assert found == RemoteCache(url="s3://bucket/folder", mode="read", instance="", timeout_s=20.0)


@pytest.mark.parametrize("url", ["file:///tmp/cache", "az://box/x", "http://[::1]:8080", "gs://b"])
def test_addresses_of_all_kinds_are_taken(url: str) -> None:
    found = read_settings(f"remote_cache: {{url: '{url}'}}\n").remote_cache

    assert found == RemoteCache(url=url)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://me:geheim@cache", "the address of the remote cache holds credentials"),
        ("s3://bucket?key=geheim", "the address of the remote cache holds more than a place"),
        ("ftp://geheim", "the address of the remote cache has no known scheme"),
        ("geheim", "the address of the remote cache has no known scheme"),
        ("https:///geheim", "the address of the remote cache names no server"),
        ("https://geheim:0x1", "the address of the remote cache cannot be read"),
    ],
)
def test_an_address_that_cannot_be_is_refused_without_showing_it(url: str, told: str) -> None:
    text = refused(f"remote_cache:\n  url: '{url}'\n")

    assert text.startswith(f"qnnbuild.yaml:2:8: error: {told}\n")
    assert "geheim" not in text


@pytest.mark.parametrize(
    "text",
    [
        "remote_cache: https://me:geheim@cache\n",
        "remote_cache: {ulr: 'https://me:geheim@cache'}\n",
        "remote_cache: {url: ['https://me:geheim@cache']}\n",
        "remote_cache: {url: 'https://me:geheim@cache', mode: write}\n",
        "remote_cache:\n  url: https://cache\n  token: geheim\n",
    ],
)
def test_whatever_is_wrong_nothing_secret_is_shown(text: str) -> None:
    assert "geheim" not in refused(text)


def test_a_mode_that_is_none_is_refused() -> None:
    assert "read-write" in refused("remote_cache: {url: 'https://a.b', mode: write}\n")


def test_the_environment_goes_before_the_file() -> None:
    assert with_environment(OURS, {}) == OURS
    assert with_environment(OURS, {MODE: "read"}) == RemoteCache(
        url=OURS.url, mode="read", instance="main", timeout_s=3.0
    )
    assert with_environment(None, {URL: "https://a.b/", MODE: "read-write"}) == RemoteCache(
        url="https://a.b", mode="read-write"
    )


def test_another_server_gets_nothing_of_what_the_file_says_of_its_own() -> None:
    assert with_environment(OURS, {URL: "https://a.b"}) == RemoteCache(url="https://a.b")


def test_an_empty_address_means_none() -> None:
    assert with_environment(OURS, {URL: ""}) is None


@pytest.mark.parametrize("known", [{MODE: "geheim"}, {URL: "https://me:geheim@a.b"}])
def test_an_environment_that_cannot_be_is_refused(known: dict[str, str]) -> None:
    with pytest.raises(RecipeError) as caught:
        with_environment(OURS, known)

    assert known.get(URL, "me:") not in terminal(caught.value.problems)


def test_keys_are_trusted_wherever_the_cache_is() -> None:
    found = read_settings("remote_cache: {url: 'https://a.b', trusted_keys: [a.pem, b.pub]}\n")
    settings = found.remote_cache
    assert settings is not None

    assert settings.trusted_keys == ("a.pem", "b.pub")
    moved = with_environment(settings, {URL: "https://c.d"})
    assert moved == RemoteCache(url="https://c.d", trusted_keys=("a.pem", "b.pub"))


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ("anybody", ()),
        ("", ("c.pem",)),
        (" \n", ("c.pem",)),
        ("a.pem:keys/b.pub", ("a.pem", "keys/b.pub")),
        ("untrusted comment: minisign: a key\nRWx\n:b.pem", ("RWx", "b.pem")),
        ("-----BEGIN PUBLIC KEY-----\nx\n-----END", ("-----BEGIN PUBLIC KEY-----\nx\n-----END",)),
    ],
)
def test_the_environments_keys_go_before_the_files(said: str, keys: tuple[str, ...]) -> None:
    settings = RemoteCache(url="https://a.b", trusted_keys=("c.pem",))
    found = with_environment(settings, {"QNNBUILD_REMOTE_CACHE_TRUSTED_KEYS": said})

    assert found == RemoteCache(url="https://a.b", trusted_keys=keys)
