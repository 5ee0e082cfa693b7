"""Unit tests start no process and open no socket."""

from __future__ import annotations

import os
import socket
import subprocess

import pytest


@pytest.fixture(autouse=True)
def _no_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a unit test may not start a process or open a socket")

    for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "execve", "system"):
        monkeypatch.setattr(os, name, refuse)
    monkeypatch.setattr(subprocess.Popen, "__init__", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket.socket, "bind", refuse)
