"""Signatures of results: of whom, of what, and what strangers send in their place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qnnbuild.engine.result_signing import Signing, Unsigned, check, signature_of, trusted_keys
from qnnbuild.engine.signing_keys import KEY, private_key
from qnnbuild.errors import RecipeError, Span
from qnnbuild.model.remote_cache import SIGNING_KEY, SIGNING_PASSWORD
from qnnbuild.text.render import terminal
from tests.signing import minisign_keys, pem_keys

OF, TEXT = "ab" * 32, b'{"key": "abab"}'
KINDS = ("ed25519", "ecdsa", "minisign")


def keys(folder: Path, kind: str, name: str = "ours") -> tuple[str, str]:
    """The private key, and the public one's text."""
    if kind == "minisign":
        secret, public = minisign_keys(folder, name)
    else:
        secret, public = pem_keys(folder, name, kind)
    return secret, public.read_text()


def signed(secret: str, of: str = OF, text: bytes = TEXT) -> bytes:
    return signature_of(private_key({KEY: secret}), of, text)


def refused(signature: bytes | None, public: str, of: str = OF, text: bytes = TEXT) -> str:
    with pytest.raises(Unsigned) as caught:
        check(signature, of, text, trusted_keys([public], Path()))
    return str(caught.value)


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_is_of_one_record_by_one_key(tmp_path: Path, kind: str) -> None:
    secret, public = keys(tmp_path, kind)
    stranger, _ = keys(tmp_path, kind, "strange")
    signature = signed(secret)
    check(signature, OF, TEXT, trusted_keys([public], Path()))

    assert refused(signature, public, of="cd" * 32)
    assert refused(signature, public, text=TEXT + b" ")
    assert refused(signed(stranger), public)
    assert refused(None, public) == "nobody"


@pytest.mark.parametrize("kind", KINDS)
def test_a_signature_of_the_other_kind_is_no_error(tmp_path: Path, kind: str) -> None:
    secret, _ = keys(tmp_path, kind)
    _, other = keys(tmp_path, "ed25519" if kind == "minisign" else "minisign", "other")

    assert "not trusted" in refused(signed(secret), other)


@pytest.mark.parametrize("written", ["as a file", "a line", "a path"])
def test_any_of_several_keys_will_do(tmp_path: Path, written: str) -> None:
    secret, text = keys(tmp_path, "minisign")
    _, other = keys(tmp_path, "ed25519", "next")
    forms = {"as a file": text, "a line": text.splitlines()[1], "a path": "ours.pub"}
    trusted = trusted_keys(["next.pem", other, forms[written]], tmp_path)

    assert len(trusted) == 3
    check(signed(secret), OF, TEXT, trusted)


@pytest.mark.parametrize(
    "signature",
    [b"", b"[]", b"{}", b"null", b"[1]", b'[{"keyid": 1, "sig": 2}]', b'[{"sig": ""}]', b"\xff",
     b"[" * 5000, b"untrusted comment:", b"untrusted comment: a\nRW\ntrusted comment: b\nc\n"],
)  # fmt: skip
def test_what_is_no_signature_is_by_nobody(tmp_path: Path, signature: bytes) -> None:
    _, pem = keys(tmp_path, "ed25519")
    _, minisign = keys(tmp_path, "minisign", "other")

    assert refused(signature, pem)
    assert refused(signature, minisign)


def test_the_id_of_another_key_is_of_no_use(tmp_path: Path) -> None:
    secret, public = keys(tmp_path, "ed25519")
    stranger, _ = keys(tmp_path, "ed25519", "strange")
    (told,) = json.loads(signed(stranger))
    (ours,) = json.loads(signed(secret))

    assert refused(json.dumps([{**told, "keyid": ours["keyid"]}]).encode(), public)
    assert refused(json.dumps([ours, ours]).encode(), public) == "what is no signature"


def wrong_key(entry: str, root: Path, at: Span | None = None) -> str:
    with pytest.raises(RecipeError) as caught:
        trusted_keys([entry], root, at)
    return terminal(caught.value.problems)


def test_a_trusted_key_that_is_none_is_told_with_its_place(tmp_path: Path) -> None:
    secret, _ = keys(tmp_path, "ed25519")
    (tmp_path / "text").write_text("what")
    at = Span(file="qnnbuild.yaml", line=3, column=1, end=4, text="remote_cache: {url: …}")

    assert wrong_key(secret, tmp_path) == (
        "error: a key that is to be trusted is no public key that could check\n"
        "  variable: QNNBUILD_REMOTE_CACHE_TRUSTED_KEYS\n"
        "  hint: openssl pkey -in KEY -pubout makes it of a private one\n"
    )
    assert wrong_key("keys/ours.pem", tmp_path, at) == (
        f"qnnbuild.yaml:3:1: error: {tmp_path}/keys/ours.pem: no such file\n"
        "  hint: trusted_keys: public keys, or paths from the root of the repo\n"
    )
    assert wrong_key("text", tmp_path, at) == (
        f"qnnbuild.yaml:3:1: error: {tmp_path}/text is no public key\n"
        "  hint: a public key in PEM, or minisign's .pub\n"
    )


def test_nothing_is_signed_without_a_key(tmp_path: Path) -> None:
    signing = Signing()

    assert (signing.trouble(), signing.sign(OF, TEXT)) == (None, None)


def test_a_key_that_is_none_is_told_by_the_name_of_its_variable(tmp_path: Path) -> None:
    secret, public = minisign_keys(tmp_path, "ours", "geheim")
    trusted = trusted_keys([str(public)], Path())
    told = [
        Signing(trusted, environment).trouble()
        for environment in (
            {},
            {SIGNING_KEY: "nowhere"},
            {SIGNING_KEY: secret},
            {SIGNING_KEY: secret, SIGNING_PASSWORD: "geheim"},
        )
    ]

    assert [problem and problem.message for problem in told] == [
        f"there is no key to sign with: {SIGNING_KEY} is not set",
        f"the file that {SIGNING_KEY} names cannot be read: No such file or directory",
        f"the key is locked, and {SIGNING_PASSWORD} is not set",
        None,
    ]
