"""Downloads whose digests were written down before."""

from __future__ import annotations

import json
import shutil
import urllib.request
from hashlib import sha256
from pathlib import Path
from typing import IO


class Unpinned(Exception):
    """Something is to be downloaded of which nothing says what it must be."""


class Downloads:
    """`pins` is a JSON file: address → sha256, and repository → commit."""

    def __init__(self, pins: Path, *, pin: bool = False) -> None:
        self._file = pins
        self._pin = pin
        self._pins = json.loads(pins.read_text(encoding="utf-8")) if pins.exists() else {}

    def get(self, address: str, path: Path) -> None:
        """Download to `path`; a digest that is another one is an error."""
        if address not in self._pins and not self._pin:
            raise Unpinned(f"{address} has no digest in pins/{self._file.name}")
        path.parent.mkdir(parents=True, exist_ok=True)
        with _open(address) as answer, path.open("wb") as file:
            shutil.copyfileobj(answer, file)
        with path.open("rb") as file:
            found = _digest(file)
        if self._pins.setdefault(address, found) != found:
            raise SystemExit(
                f"{address} is not what it was: its digest is {found}, and "
                f"pins/{self._file.name} says {self._pins[address]}"
            )
        self._write()

    def commit(self, repo: str) -> str:
        """The commit of a repository that somebody has to choose."""
        if repo not in self._pins:
            raise Unpinned(
                f'pins/{self._file.name} says no commit: add "{repo}": "<40 hex digits>" to it'
            )
        return str(self._pins[repo])

    def check_commit(self, repo: str, found: str) -> None:
        """What a library took of the model hub by itself."""
        if repo not in self._pins and not self._pin:
            raise Unpinned(f"{repo} at {found} stands not in pins/{self._file.name}")
        if self._pins.setdefault(repo, found) != found:
            raise SystemExit(
                f"{repo} is at {found} now, and pins/{self._file.name} says {self._pins[repo]}"
            )
        self._write()

    def _write(self) -> None:
        if self._pin:
            self._file.parent.mkdir(exist_ok=True)
            text = json.dumps(self._pins, indent=1, sort_keys=True)
            self._file.write_text(text + "\n", encoding="utf-8")


def _open(address: str) -> IO[bytes]:
    return urllib.request.urlopen(address)  # noqa: S310  # those of families.py


def _digest(file: IO[bytes]) -> str:
    found = sha256()
    while block := file.read(1 << 20):
        found.update(block)
    return found.hexdigest()
