"""sdk.yaml in the root of Qualcomm's SDK: which version it is."""

from __future__ import annotations

import re

from qnnbuild.formats.format_error import FormatError

VERSION = re.compile(r"^version:[ \t]*['\"]?v?([0-9]+(?:\.[0-9]+){1,3})", re.MULTILINE)


def sdk_version(text: str) -> str:
    """2.40.0 or 2.40.0.251030: as many parts as it tells. FormatError when it tells none."""
    found = VERSION.search(text)
    if found is None:
        raise FormatError("no line 'version: …' in it")
    return found[1]


def same_version(wanted: str, found: str) -> bool:
    """Whether one is as the other as far as both tell: 2.40, 2.40.0.251030, v2.40.0.251030114326_1.

    A build id ends in a date with a time and, in some libraries only, a number.
    """
    return all(_same(a, b) for a, b in zip(_parts(wanted), _parts(found), strict=False))


def _parts(version: str) -> list[str]:
    return version.removeprefix("qaisw-").removeprefix("v").partition("_")[0].split(".")


def _same(one: str, other: str) -> bool:
    if len(one) >= 6 and len(other) >= 6:  # dates, of which one may have a time behind it
        return one[:6] == other[:6] and (len(one) != len(other) or one == other)
    return one == other


def is_newer(one: str, other: str) -> bool:
    """Whether a version is newer than another, as far as the three numbers of a release tell."""
    return _numbers(one) > _numbers(other)


def _numbers(version: str) -> list[int]:
    return [int(part) for part in _parts(version)[:3] if part.isdigit()]
