"""What of a Dockerfile could come out otherwise another day. Each rule gives complaints."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

BASE = re.compile(r"\S+:[a-z]+-(\d{8})\S*@sha256:[0-9a-f]{64}")
SNAPSHOT = "https://snapshot.ubuntu.com/ubuntu/%s"
DATE = re.compile(r"(\d{8})T\d{6}Z")
DIGEST = re.compile(r"[0-9a-f]{64}")
FETCHED = re.compile(r'fetch\.sh\s+"\$\{?(\w+)[^"]*"\s+"\$\{?(\w+)([^"]*)"\s+\S+')
DOWNLOADS = re.compile(r"\b(curl|wget|git clone|svn|aria2c|rsync)\b|https?://")
SWALLOWED = re.compile(r"\|\|\s*(true\b|:|exit 0|echo)|;\s*true\b|set \+e|set \+o")


class Line(NamedTuple):
    number: int
    word: str  # FROM, RUN, …
    rest: str


def lines(text: str) -> list[Line]:
    found: list[Line] = []
    begun, at = "", 0
    for number, one in enumerate(text.splitlines(), 1):
        if one.lstrip().startswith("#") or not (one.strip() or begun):
            continue
        at = at or number
        begun += one.rstrip().removesuffix("\\") + " "
        if not one.rstrip().endswith("\\"):
            word, _, rest = begun.strip().partition(" ")
            found.append(Line(at, word.upper(), re.sub(r"\s+", " ", rest).strip()))
            begun, at = "", 0
    return found


def commands(text: str) -> Iterator[tuple[int, str]]:
    for line in lines(text):
        if line.word == "RUN":
            for command in re.split(r"&&|;|\|(?!\|)", line.rest):
                yield line.number, command.strip()


def arguments(text: str) -> dict[str, str | None]:
    given = [line.rest.partition("=") for line in lines(text) if line.word == "ARG"]
    return {name: value if equals else None for name, equals, value in given}


def floating_bases(text: str) -> Iterator[str]:
    stages: set[str] = set()
    for line in lines(text):
        if line.word != "FROM":
            continue
        image, _, alias = line.rest.partition(" AS ")
        if image not in stages and not BASE.fullmatch(image):
            yield f"{line.number}: {image} is not a dated tag with its digest"
        stages.add(alias)


def floating_packages(text: str) -> Iterator[str]:
    """apt has one source, and that is the archive of one day."""
    date = DATE.fullmatch(arguments(text).get("APT_SNAPSHOT") or "")
    bases = [BASE.search(line.rest) for line in lines(text) if line.word == "FROM"]
    if date is None:
        yield "APT_SNAPSHOT is no day"
    elif any(base and base[1] > date[1] for base in bases):
        yield "the archive's day is before the base's"
    sourced = False
    for number, command in commands(text):
        sourced = sourced or (SNAPSHOT in command and "> /etc/apt/sources.list" in command)
        if re.search(r"\bapt(-get)?\b.*\binstall\b", command):
            if not sourced:
                yield f"{number}: apt installs before it has the archive of one day"
            if "--no-install-recommends" not in command:
                yield f"{number}: apt installs what is only recommended"
            if "Verify-Peer=false" in command and not command.endswith(" ca-certificates"):
                yield f"{number}: only the authorities are installed without asking them"
        if re.search(r"add-apt-repository|\bapt(-get)? .*(dist-)?upgrade", command):
            yield f"{number}: {command}"


def floating_wheels(text: str) -> Iterator[str]:
    for number, command in commands(text):
        if re.search(r"\bpip3? .*\b(install|download|wheel)\b", command):
            locked = "--require-hashes" in command and re.search(r" -r \S+\.lock\b", command)
            ours = "--no-index" in command and "--no-deps" in command
            if not (locked or ours):
                yield f"{number}: {command}"


def unchecked_downloads(text: str) -> Iterator[str]:
    given = arguments(text)
    for line in lines(text):
        if line.word == "ADD":
            yield f"{line.number}: ADD {line.rest}"
    for number, command in commands(text):
        told = FETCHED.search(command)
        if told:
            digest, rest = told[2], told[3]
            known = DIGEST.fullmatch(given.get(digest) or "")
            asked = given.get(digest, "") is None and rest.startswith(":?")
            if not (digest.endswith("_SHA256") and (known or asked)):
                yield f"{number}: {digest} is no digest"
        elif DOWNLOADS.search(command) and SNAPSHOT not in command and "install" not in command:
            yield f"{number}: {command}"


def swallowed_failures(text: str) -> Iterator[str]:
    shells = [line.rest for line in lines(text) if line.word == "SHELL"]
    if not shells or not all("-e" in one and "pipefail" in one for one in shells):
        yield "SHELL does not end at the first failure"
    for line in lines(text):
        if line.word == "RUN" and SWALLOWED.search(line.rest):
            yield f"{line.number}: {line.rest}"


RULES = (
    floating_bases,
    floating_packages,
    floating_wheels,
    unchecked_downloads,
    swallowed_failures,
)


def complaints(text: str) -> list[str]:
    return [f"{rule.__name__}: {said}" for rule in RULES for said in rule(text)]
