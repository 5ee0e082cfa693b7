"""The press of a server: started when a compile waits for it, or is about to come."""

from __future__ import annotations

import socket

from qnnbuild.work import press


class Presses:
    """One press after the other on one socket: what waits in it is the next one's, and not lost."""

    MOST = 8  # one that dies of what it is asked would be started for ever

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.left = self.MOST
        self.pid = 0  # of the one that lives

    @property
    def listening(self) -> list[int]:
        """The descriptor that is ready once somebody asks and there is no press."""
        return [] if self.pid or self.connection.fileno() < 0 else [self.connection.fileno()]

    def ready(self) -> None:
        """Have one, unless there is one. Waits until it runs its program.

        That is a tenth of a second, and once on a machine as long as links or copies of the
        runtime take.
        """
        if self.pid or self.connection.fileno() < 0:
            return
        self.left -= 1
        self.pid = press.start(self.connection.fileno()) if self.left >= 0 else 0
        if not self.pid:
            self.connection.close()  # whoever asks is told so

    def lost(self) -> None:
        """The one that there was has died; the next is started when somebody asks."""
        self.pid = 0
