"""What a unit test may not do."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

REFUSED = "a unit test may not start a process or open a socket"


def test_a_unit_test_cannot_start_a_process() -> None:
    with pytest.raises(pytest.fail.Exception, match=REFUSED):
        subprocess.run([sys.executable, "-c", ""], check=False)


def test_a_unit_test_cannot_fork() -> None:
    with pytest.raises(pytest.fail.Exception, match=REFUSED):
        os.fork()


def test_a_unit_test_cannot_open_a_socket() -> None:
    with socket.socket() as opened, pytest.raises(pytest.fail.Exception, match=REFUSED):
        opened.connect(("127.0.0.1", 9))
