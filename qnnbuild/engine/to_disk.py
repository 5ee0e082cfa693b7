"""What is made reaches the disk, with its name, before anybody is told of it."""

from __future__ import annotations

import os
import threading
from pathlib import Path


class OnItsWay:
    """What is on its way to the disk while it is digested need not be waited for afterwards."""

    def __init__(self, file: Path) -> None:
        self._failed: OSError | None = None
        self._thread: threading.Thread | None = None
        descriptor = os.open(file, os.O_RDONLY)
        thread = threading.Thread(target=self._sync, args=(descriptor,))
        try:
            thread.start()
        except RuntimeError:  # no more threads, or Python ends: it is synced where it has moved to
            os.close(descriptor)
        else:
            self._thread = thread

    def _sync(self, descriptor: int) -> None:
        try:
            sync(descriptor)
        except OSError as error:
            self._failed = error
        finally:
            os.close(descriptor)

    def wait(self) -> None:
        """Raises what the disk said: it says it to one descriptor once."""
        if self._thread is not None:
            self._thread.join()
        if self._failed is not None:
            raise self._failed


def move_and_sync(file: Path, path: Path) -> None:
    """Synced after the move, so that the new name reaches the disk with the contents.

    What does not reach it is taken away again. A power cut before that leaves a file of another
    size, or none, and both count as none.
    """
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.replace(file, path)
        try:
            sync(descriptor)
        except OSError:
            path.unlink(missing_ok=True)
            raise
    finally:
        os.close(descriptor)


def sync(descriptor: int) -> None:
    os.fsync(descriptor)
