"""Which of an SDK's libraries run what it compiled: of a system, and of HTP generations."""

from __future__ import annotations

from collections.abc import Sequence

PREFIX = "runtime/"
"""Begins the name of the part of an SDK that is passed on."""

PHONE = "phone/"
"""The same of the part that runs a binary on a phone."""

BACKEND = ("libQnnHtp.so", "libQnnSystem.so")
PREPARES = "libQnnHtpPrepare.so"
"""Compiles on the device what is no binary yet: libraries need it."""

ARCHS = (68, 69, 73, 75, 79, 81)
TEXTS = ("LICENSE*", "NOTICE*")
"""The SDK's own licence and notices, which go along."""


def runtime_part(system: str, archs: Sequence[int], *, prepares: bool) -> str:
    """ "runtime/aarch64-android/73+79/prepares" → `runtime_files` knows it."""
    told = "+".join(map(str, sorted(set(archs))))
    return f"{PREFIX}{system}/{told}" + ("/prepares" if prepares else "")


def phone_part(arch: int) -> str:
    """ "phone/79" → `phone_files` knows it."""
    return f"{PHONE}{arch}"


def phone_files(part: str) -> tuple[str, ...]:
    """What runs a binary on a phone and tells what it answered."""
    arch = part.removeprefix(PHONE)
    names = [*BACKEND, "libQnnHtpNetRunExtensions.so", f"libQnnHtpV{arch}Stub.so"]
    return (
        "bin/aarch64-android/qnn-net-run",
        *(f"lib/aarch64-android/{name}" for name in names),
        f"lib/hexagon-v{arch}/unsigned/libQnnHtpV{arch}Skel.so",
    )


def runtime_files(part: str) -> tuple[str, ...]:
    """What is needed of the SDK, relative to its folder."""
    system, archs, *more = part.removeprefix(PREFIX).split("/")
    names = [*BACKEND, *([PREPARES] if more else [])]
    names += [f"libQnnHtpV{arch}Stub.so" for arch in archs.split("+")]
    found = [f"lib/{system}/{name}" for name in names]
    return (*found, *(f"lib/hexagon-v{a}/unsigned/libQnnHtpV{a}Skel.so" for a in archs.split("+")))
