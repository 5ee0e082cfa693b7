"""Keys that sign bundles and check signatures: PEM of OpenSSL's kind, and minisign's own form.

A private key and its password come from the environment only, and are in no message, log or record.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from qnnbuild.errors import NothingMatches, RecipeError, ToolError

if TYPE_CHECKING:
    from minisign import PublicKey as MinisignPublic
    from minisign import SecretKey as MinisignSecret
    from securesystemslib.signer import CryptoSigner, SSlibKey

KEY = "QNNBUILD_SIGNING_KEY"
"""The key itself or the path of a file that holds it."""

PASSWORD = "QNNBUILD_SIGNING_PASSWORD"  # noqa: S105 - a variable's name
PEM = "-----BEGIN "
MINISIGN_KEY = re.compile(r"RW[A-Za-z0-9+/]{54}")
MINISIGN = "untrusted comment:"
COMMENT = b"untrusted comment: a key without one"
KINDS = "an Ed25519 or ECDSA key in PEM, or minisign's"

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Variables:
    """Where a private key comes from: the environment's names of it and of its password."""

    key: str
    password: str


OF_BUNDLES = Variables(key=KEY, password=PASSWORD)


@dataclass(frozen=True, kw_only=True)
class Pem:
    """Signs statements, as DSSE envelopes."""

    key: CryptoSigner


@dataclass(frozen=True, kw_only=True)
class Minisign:
    """Signs files."""

    key: MinisignSecret


@dataclass(frozen=True, kw_only=True)
class PublicPem:
    key: SSlibKey


@dataclass(frozen=True, kw_only=True)
class PublicMinisign:
    key: MinisignPublic


def needs_extra(function: Callable[P, T]) -> Callable[P, T]:
    """The libraries that sign are an extra: most machines only build."""

    @wraps(function)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return function(*args, **kwargs)
        except ImportError as error:
            raise ToolError(
                f"signatures need the Python package '{error.name}', which is not installed",
                hint="pip install 'qnnbuild[sign]'",
            ) from error

    return told


def wants_signatures(environment: Mapping[str, str]) -> bool:
    return bool(environment.get(KEY))


@needs_extra
def private_key(
    environment: Mapping[str, str], variables: Variables = OF_BUNDLES
) -> Pem | Minisign:
    """The key that the environment names. Raises what is wrong with it, and never shows it."""
    said = environment.get(variables.key, "")
    if not said:
        raise NothingMatches(
            f"there is no key to sign with: {variables.key} is not set",
            hint=f"{variables.key}=FILE, or the key itself: {KINDS}",
        )
    text = said if _is_key(said) else _read(said, variables)
    password = environment.get(variables.password) or None
    if text.lstrip().startswith(MINISIGN):
        return Minisign(key=_minisign(text, password, variables))
    if PEM in text:
        return Pem(key=_pem(text, password, variables))
    raise RecipeError(f"what {variables.key} names is no key that signs", hint=KINDS)


def _is_key(text: str) -> bool:
    return PEM in text or text.lstrip().startswith(MINISIGN)


def _read(path: str, variables: Variables) -> str:
    name = variables.key
    if "\n" in path:
        raise RecipeError(f"{name} is neither a key nor the path of one", hint=KINDS)
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise NothingMatches(
            f"the file that {name} names cannot be read: {error.strerror}",
            hint=f"{name} is the path of a file or the key itself",
        ) from None
    except UnicodeDecodeError:
        raise RecipeError(f"what {name} names is no key that signs", hint=KINDS) from None


def _minisign(text: str, password: str | None, variables: Variables) -> MinisignSecret:
    import minisign

    try:
        key = minisign.SecretKey.from_bytes(text.encode())
    except minisign.ParseError as error:
        raise RecipeError(
            f"what {variables.key} names is no secret key of minisign: {error}"
        ) from None
    if not key.is_encrypted():
        return key
    if password is None:
        raise _locked(variables)
    try:
        key.decrypt(password)
    except minisign.Error:
        raise _wrong_password(variables) from None
    return key


def _pem(text: str, password: str | None, variables: Variables) -> CryptoSigner:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_private_key
    from securesystemslib.signer import CryptoSigner

    locked = "ENCRYPTED" in text
    if locked and password is None:
        raise _locked(variables)
    secret = password.encode() if locked and password is not None else None
    try:
        return CryptoSigner(load_pem_private_key(text.encode(), secret))
    except (ValueError, UnsupportedAlgorithm) as error:
        if locked and "password" in str(error).lower():
            raise _wrong_password(variables) from None
        kind = "a public key" if "PUBLIC KEY" in text else "no key"
        wrong = RecipeError(
            f"{kind} is what {variables.key} names; a private one signs", hint=KINDS
        )
        raise wrong from None


def _locked(variables: Variables) -> RecipeError:
    name = variables.password
    return RecipeError(f"the key is locked, and {name} is not set", hint=f"set {name}")


def _wrong_password(variables: Variables) -> RecipeError:
    return RecipeError(
        f"{variables.password} does not open the key", hint="its password, with no line end"
    )


@needs_extra
def public_key(path: Path) -> PublicPem | PublicMinisign:
    """The key in a file: a public key in PEM, or minisign's."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NothingMatches(f"{path}: no such file") from None
    except UnicodeDecodeError:
        text = ""
    return public_key_in(text, str(path))


def is_public_key(text: str) -> bool:
    """Whether it is a key rather than the path of one."""
    return _is_key(text) or bool(MINISIGN_KEY.fullmatch(text.strip()))


@needs_extra
def public_key_in(text: str, name: str) -> PublicPem | PublicMinisign:
    """The same out of its text; `name` is what an error calls it."""
    if text.lstrip().startswith(MINISIGN):
        return PublicMinisign(key=_public_minisign(text.encode(), name))
    if MINISIGN_KEY.fullmatch(text.strip()):
        return PublicMinisign(key=_public_minisign(b"%b\n%b" % (COMMENT, text.encode()), name))
    if PEM in text:
        return PublicPem(key=_public_pem(text.encode(), name))
    raise RecipeError(f"{name} is no public key", hint="a public key in PEM, or minisign's .pub")


def _public_minisign(text: bytes, name: str) -> MinisignPublic:
    import minisign

    try:
        return minisign.PublicKey.from_bytes(text)
    except minisign.ParseError:
        raise RecipeError(
            f"{name} is no public key of minisign", hint="it is in minisign.pub, beside the secret"
        ) from None


def _public_pem(text: bytes, name: str) -> SSlibKey:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_pem_public_key
    from securesystemslib.signer import SSlibKey

    try:
        return SSlibKey.from_crypto(load_pem_public_key(text))
    except (ValueError, UnsupportedAlgorithm):
        hint = "openssl pkey -in KEY -pubout makes it of a private one"
        raise RecipeError(f"{name} is no public key that could check", hint=hint) from None
