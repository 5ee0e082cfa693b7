"""Signatures of bundles: laid beside what they sign, after the build, and never in a key.

A key in PEM signs statements: a DSSE envelope, which has the statement in it. Minisign's signs the
file itself: the statement of a bundle, or an archive. Both work without a network.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from qnnbuild.actions.record import Tree
from qnnbuild.digest import digest_file
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.signing_keys import (
    Minisign,
    Pem,
    PublicMinisign,
    PublicPem,
    needs_extra,
    private_key,
    wants_signatures,
)
from qnnbuild.engine.small_file import SIGNATURE, NotSmall, read_json, read_small
from qnnbuild.engine.store import on_disk, place
from qnnbuild.engine.trust import trust_of
from qnnbuild.errors import NotGood, NotTrusted
from qnnbuild.work.bundle_files import MANIFEST, STATEMENT, signatures_of

PAYLOAD = "application/vnd.in-toto+json"


@dataclass(frozen=True, kw_only=True)
class Signed:
    """What was signed, and by what."""

    signature: Path
    new: bool  # False: a good one was there


@needs_extra
def sign(folders: Mapping[Path, Tree], environment: Mapping[str, str]) -> list[Signed]:
    """Sign what is in each folder of build/, if it is what the record of that bundle says.

    A good signature by the same key stays. Raises NotTrusted where the repo is not: what its
    actions and its store say of themselves is a stranger's word.
    """
    trust = trust_of(environment)
    if not trust.given:
        raise trust.refused("nothing is signed: this repo is not trusted")
    key = private_key(environment)
    with on_disk("a signature cannot be written"):
        return [_signed(folder, tree, key) for folder, tree in folders.items()]


def sign_built(root: Path, bundles: Mapping[str, Tree], environment: Mapping[str, str]) -> None:
    """After a build, where the environment has a key: all bundles of it that are in build/."""
    if not wants_signatures(environment):
        return
    there = {
        root / lands: tree
        for lands, tree in bundles.items()
        if (root / lands / STATEMENT).is_file()
    }
    try:
        sign(there, environment)
    except NotTrusted as error:  # what was built is there all the same
        (problem,) = error.problems
        tell(replace(problem, severity="warning"))


def _signed(folder: Path, tree: Tree, key: Pem | Minisign) -> Signed:
    _check_whole(folder, tree)
    target = _signed_file(folder)
    envelope, minisig = signatures_of(target.name)
    if isinstance(key, Pem):
        return _envelope(folder / STATEMENT, folder / envelope, key)
    return _minisig(target, folder / minisig, key)


def _signed_file(folder: Path) -> Path:
    """An archive, which users have alone, or the statement that has the digests of all files."""
    try:
        told = read_json(folder / MANIFEST)
        (name,) = told["files"] if "members" in told else (STATEMENT,)
    except (ValueError, KeyError, TypeError):
        raise _changed(folder / MANIFEST) from None
    return folder / str(name)


def _check_whole(folder: Path, tree: Tree) -> None:
    """Nobody's change is signed. The folder's own statement is no witness of that."""
    for name, (digest, _) in tree.files.items():
        path = folder / name
        if not path.is_file() or digest_file(path) != digest:
            raise _changed(path)


def _changed(path: Path) -> NotGood:
    return NotGood(
        f"{path} is not as it was built, so it is not signed", hint="doit mends it; then sign"
    )


def _envelope(statement: Path, to: Path, key: Pem) -> Signed:
    from securesystemslib.dsse import Envelope

    payload = statement.read_bytes()
    if to.exists() and _is_good(to, payload, PublicPem(key=key.key.public_key)):
        return Signed(signature=to, new=False)
    envelope = Envelope(payload, PAYLOAD, {})
    envelope.sign(key.key)
    text = json.dumps(envelope.to_dict(), sort_keys=True) + "\n"
    place(to, text.encode())
    return Signed(signature=to, new=True)


def _is_good(envelope: Path, payload: bytes, key: PublicPem) -> bool:
    try:
        return opened(envelope, key) == payload
    except NotGood:
        return False


def _minisig(path: Path, to: Path, key: Minisign) -> Signed:
    if to.exists():
        try:
            check_file(path, to, PublicMinisign(key=key.key.get_public_key()))
        except NotGood:
            pass  # of other contents or by another key: a new one takes its place
        else:
            return Signed(signature=to, new=False)
    made = key.key.sign_file(path, prehash=True)
    place(to, bytes(made) + b"\n")
    return Signed(signature=to, new=True)


@needs_extra
def opened(envelope: Path, key: PublicPem | None) -> bytes:
    """The statement in an envelope. Raises NotGood when `key` did not sign it; None: unchecked."""
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import Error, VerificationError

    try:
        found = Envelope.from_dict(read_json(envelope))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, Error):
        raise NotGood(f"{envelope.name} is no DSSE envelope") from None
    if found.payload_type != PAYLOAD:
        raise NotGood(f"{envelope.name} holds no in-toto statement: {found.payload_type}")
    if key is not None:
        try:
            found.verify([key.key], 1)
        except (VerificationError, Error):
            raise _not_by(envelope, key.key.keyid, sorted(found.signatures)) from None
    return bytes(found.payload)


@needs_extra
def check_file(path: Path, signature: Path, key: PublicMinisign) -> None:
    """Raises NotGood when the key did not sign the file."""
    import minisign

    try:
        found = minisign.Signature.from_bytes(read_small(signature, SIGNATURE))
    except (minisign.ParseError, NotSmall):
        raise NotGood(f"{signature.name} is no signature of minisign") from None
    try:
        key.key.verify_file(path, found)
    except minisign.VerifyError as error:
        raise NotGood(
            f"{signature.name} is not this key's signature of {path.name}",
            facts=[("minisign", str(error))],
            hint="another key for --key, or another file",
        ) from None


def _not_by(envelope: Path, key: str, by: list[str]) -> NotGood:
    signers = ", ".join(one[:16] for one in by)
    return NotGood(
        f"{envelope.name} has no good signature by this key",
        facts=[("this key", key[:16]), ("signed by", signers or "nobody")],
        hint="another key for --key, if the signer has changed it",
    )
