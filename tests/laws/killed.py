"""A build that ends itself by SIGKILL at its Nth change of the disk. Run as a program."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

WRITES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "sqlite3.connect"}


def main() -> None:
    """argv: folder, the plan as JSON, N (0: never). Prints how many changes there were."""
    folder, text, deadly = sys.argv[1], sys.argv[2], int(sys.argv[3])

    from tests.laws.world import World, nodes_of

    nodes = nodes_of(text)
    changes = 0

    def watch(event: str, args: tuple[object, ...]) -> None:
        nonlocal changes
        # an open for writing is a change as well: it may create or empty the file
        if event in WRITES or (event == "open" and isinstance(args[2], int) and args[2] & 3):
            changes += 1
            if changes == deadly:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)
    world = World(Path(folder))
    world.build(nodes, threads=2)
    world.workers.close()
    sys.stdout.write(f"{changes}\n")


if __name__ == "__main__":
    main()
