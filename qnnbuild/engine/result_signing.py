"""Who may write results of a remote cache: whoever signs them with a key that is trusted here.

Signed are the key of the action and the record's text, which has the digests of all outputs. So
neither a result of another action nor one that names other contents is believed. A key in PEM
signs a DSSE envelope without its payload, minisign's in its own form.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from qnnbuild.digest import Digest
from qnnbuild.engine.signing_keys import (
    Minisign,
    Pem,
    PublicMinisign,
    PublicPem,
    Variables,
    is_public_key,
    needs_extra,
    private_key,
    public_key,
    public_key_in,
)
from qnnbuild.errors import NothingMatches, Problem, QnnbuildError, RecipeError, Span
from qnnbuild.model.remote_cache import SIGNING_KEY, SIGNING_PASSWORD, TRUSTED_KEYS

PAYLOAD = "application/vnd.qnnbuild.result"
OF_RESULTS = Variables(key=SIGNING_KEY, password=SIGNING_PASSWORD)

NO_VARIABLES: Mapping[str, str] = MappingProxyType({})

Public = PublicPem | PublicMinisign


class Unsigned(Exception):
    """A result that is signed by nobody who is trusted. Says by whom it is, if by anybody."""


class Signing:
    """Whom a build believes, and as whom it shares. Without trusted keys it believes everybody."""

    def __init__(
        self, trusted: tuple[Public, ...] = (), environment: Mapping[str, str] = NO_VARIABLES
    ) -> None:
        self.trusted = trusted
        self._environment = environment
        self._private: Pem | Minisign | None = None
        self._lock = threading.Lock()

    def trouble(self) -> Problem | None:
        """Why nothing can be shared: the key is none, or there is none and there has to be one."""
        if not self.trusted and not self._environment.get(SIGNING_KEY):
            return None
        try:
            self._key()
        except QnnbuildError as error:
            return error.problems[0]
        return None

    def sign(self, key: Digest, text: bytes) -> bytes | None:
        """A signature of a record; None where there is no key. To be asked after `trouble`."""
        if not self._environment.get(SIGNING_KEY):
            return None
        return signature_of(self._key(), key, text)

    def _key(self) -> Pem | Minisign:
        with self._lock:  # what locks a key is slow on purpose
            if self._private is None:
                self._private = private_key(self._environment, OF_RESULTS)
            return self._private

    def check(self, signature: bytes | None, key: Digest, text: bytes) -> None:
        """Raises Unsigned when none of those who are trusted has signed."""
        if self.trusted:
            check(signature, key, text, self.trusted)


def trusted_keys(entries: Iterable[str], root: Path, at: Span | None = None) -> tuple[Public, ...]:
    """Keys as text, or files below `root`. Raises what is wrong with one, and does not show it.

    `at` is where they are named; without it they are the environment's.
    """
    return tuple(_trusted(entry, root, at) for entry in entries)


def _trusted(entry: str, root: Path, at: Span | None) -> Public:
    try:
        if is_public_key(entry):
            return public_key_in(entry, "a key that is to be trusted")
        return public_key(root / entry)
    except (NothingMatches, RecipeError) as error:
        (problem,) = error.problems
        place = replace(at, text="") if at else None  # the line has the cache's address
        facts = () if at else (("variable", TRUSTED_KEYS),)
        hint = problem.hint or "trusted_keys: public keys, or paths from the root of the repo"
        told = replace(problem, at=place, facts=facts, hint=hint)
        raise RecipeError.of([told]) from None


def message(key: Digest, text: bytes) -> bytes:
    """What is signed."""
    return f"{PAYLOAD} {key}\n".encode() + text


@needs_extra
def signature_of(signer: Pem | Minisign, key: Digest, text: bytes) -> bytes:
    if isinstance(signer, Minisign):
        return bytes(signer.key.sign(message(key, text), prehash=True)) + b"\n"
    from securesystemslib.dsse import Envelope

    envelope = Envelope(message(key, text), PAYLOAD, {})
    envelope.sign(signer.key)
    return json.dumps(envelope.to_dict()["signatures"]).encode()


@needs_extra
def check(signature: bytes | None, key: Digest, text: bytes, trusted: Iterable[Public]) -> None:
    """Raises Unsigned."""
    if signature is None:
        raise Unsigned("nobody")
    signed = message(key, text)
    if signature.startswith(b"untrusted comment:"):
        keys = [one for one in trusted if isinstance(one, PublicMinisign)]
        _check_minisign(signature, signed, keys)
    else:
        _check_envelope(signature, signed, [one for one in trusted if isinstance(one, PublicPem)])


def _check_minisign(signature: bytes, signed: bytes, keys: Iterable[PublicMinisign]) -> None:
    import minisign

    try:
        found = minisign.Signature.from_bytes(signature)
    except (minisign.ParseError, ValueError):
        raise Unsigned("what is no signature") from None
    for one in keys:
        try:
            one.key.verify(signed, found)
        except minisign.VerifyError:
            continue
        return
    raise Unsigned("a key of minisign's that is not trusted, or for something else")


def _check_envelope(signature: bytes, signed: bytes, keys: list[PublicPem]) -> None:
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error, VerificationError

    try:
        told = {"payload": "", "payloadType": PAYLOAD, "signatures": json.loads(signature)}
        envelope = Envelope.from_dict(told)
        signers = ", ".join(sorted(str(one)[:16] for one in envelope.signatures))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Error):
        raise Unsigned("what is no signature") from None
    envelope.payload = signed
    try:
        if keys:
            envelope.verify([one.key for one in keys], 1)
            return
    except (VerificationError, Error):
        pass
    raise Unsigned(f"{signers or 'nobody'}, which is not trusted, or for something else")
