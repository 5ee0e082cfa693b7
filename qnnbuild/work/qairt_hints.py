"""What Qualcomm's tools say when they fail, and what helps where that is known. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

ABSENT = r"(?:'?(?::(?: command)?)? not found|'?: No such file or directory)"
"""Behind a program's name, as bash, sh, env and make tell that it is not there."""

OPENED = r"No such file or directory: '(?:\S*/)?"
"""Before it, as Python tells that."""

HINTS: tuple[tuple[str, str], ...] = (
    (
        r"libpython3\.\d+\.so|No module named '(?:\S*\.)?libPy|SystemError: .*libPy",
        "python: in qnnbuild.yaml is to be a Python 3.10 with its shared library: qnnbuild doctor",
    ),
    (
        r"error while loading shared libraries: lib(?:c\+\+|c\+\+abi|unwind)\.so",
        "apt-get install libc++1 libc++abi1 libunwind8: see qnnbuild doctor",
    ),
    (
        r"version `GLIBC_[0-9.]+' not found",
        "the SDK is for Ubuntu 22.04 and newer: build in a container of it",
    ),
    (
        r"No module named 'qti",
        "the SDK is not whole: lib/python/qti is missing; unpack it again",
    ),
    (
        r"No module named '(\w+)",
        "the Python under python: in qnnbuild.yaml lacks '{0}': qnnbuild doctor",
    ),
    (
        r"relocation truncated to fit",
        (
            "the weights are too large for a library: precision: fp16 halves them, w8a16 quarters "
            "them, and route: dlc under options: {{qairt: …}} links none"
        ),
    ),
    (
        r"graph requires estimated allocation of|memory usage too large",
        "a context holds 2 GB: smaller weights (precision: w8a16), or the model as several graphs",
    ),
    (
        r'single op, "([^"]+)".* requires 0x[0-9a-f]+ bytes of TCM',
        "operator {0} is too large for the chip's VTCM: split it, or shorten the input",
    ),
    (
        rf"\bndk-build{ABSENT}|{OPENED}ndk-build'",
        "ndk: in qnnbuild.yaml is to be the folder that has ndk-build in it",
    ),
    (
        rf"\b(?:clang\+\+|objcopy|make){ABSENT}|{OPENED}(?:clang\+\+|objcopy|make)'",
        "apt-get install clang make binutils libc++-dev",
    ),
    (
        r"No space left on device",
        "make room on the disk of the store",
    ),
    (
        r"Failed to get context binary info",
        "the binary is not whole, or of a newer SDK: the generator and the utility belong together",
    ),
)


FRAMES = "Traceback (most recent call last):"


def told_lines(lines: Iterable[str]) -> list[str]:
    """What a tool says. Where in its own code Python ended it, tells a user nothing."""
    told = []
    in_frames = False
    for line in lines:
        in_frames = line.startswith(FRAMES) or (in_frames and line.startswith("  "))
        if line.strip() and not in_frames:
            told.append(line)
    return told


def hint_of(lines: Sequence[str]) -> str | None:
    """The first of HINTS that the lines speak of."""
    text = "\n".join(lines)
    for pattern, hint in HINTS:
        if found := re.search(pattern, text):
            return hint.format(*found.groups())
    return None
