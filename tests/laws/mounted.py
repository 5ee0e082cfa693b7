"""File systems of their own for a test: small ones, and such as cannot be written."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small(folder: Path, kilobytes: int) -> Iterator[None]:
    """A disk of so much room at `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    with _mounted(folder, "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs"):
        yield


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """What is in it may be read; also root may not write."""
    with _mounted(folder, "--bind", str(folder)):
        _mount("-o", "remount,bind,ro", str(folder))
        yield


def grow(folder: Path, kilobytes: int) -> None:
    _mount("-o", f"remount,size={kilobytes}k", str(folder))


@contextmanager
def _mounted(folder: Path, *words: str) -> Iterator[None]:
    try:
        _mount(*words, str(folder))
    except (subprocess.CalledProcessError, FileNotFoundError):
        pytest.skip("nothing can be mounted here: that needs root, and a container that allows it")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def _mount(*words: str) -> None:
    subprocess.run(["mount", *words], check=True, capture_output=True)
