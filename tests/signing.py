"""Keys for tests of signatures, made anew each time."""

from __future__ import annotations

from pathlib import Path

import minisign
import securesystemslib.signer  # noqa: F401 - here: it may open a socket, which a unit test may not
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

PRIVATE = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey


def pem_keys(
    folder: Path, name: str, kind: str = "ed25519", password: str = ""
) -> tuple[str, Path]:
    """The private key as text, and the file of the public one."""
    key: PRIVATE = ed25519.Ed25519PrivateKey.generate()
    if kind == "ecdsa":
        key = ec.generate_private_key(ec.SECP256R1())
    locked: serialization.KeySerializationEncryption = serialization.NoEncryption()
    if password:
        locked = serialization.BestAvailableEncryption(password.encode())
    pem = serialization.Encoding.PEM
    text = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, locked)
    public = folder / f"{name}.pem"
    public.write_bytes(
        key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    return text.decode(), public


def minisign_keys(folder: Path, name: str, password: str = "") -> tuple[str, Path]:
    """The same of minisign. What locks it is weak, so that it takes no gigabyte."""
    pair = minisign.KeyPair.generate()
    public = folder / f"{name}.pub"
    public.write_bytes(bytes(pair.public_key) + b"\n")
    secret = pair.secret_key
    if password:
        secret.encrypt(password, opslimit=1 << 15, memlimit=1 << 20)
    return bytes(secret).decode() + "\n", public
