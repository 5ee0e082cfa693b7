"""For a repo whose pyproject.toml does not name the loader: its dodo.py brings it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from doit import loader as doit_loader
from doit.doit_cmd import DoitMain

from qnnbuild.bridge.loader import Loader

HERE = "qnnbuild.bridge"
PLUGINS = {
    "LOADER": {"qnnbuild": f"{HERE}.loader:Loader"},
    "BACKEND": {"qnnbuild": f"{HERE}.db:Db"},
    "COMMAND": {
        name: f"{HERE}.commands:{name.capitalize()}"
        for name in ("run", "list", "info", "clean", "forget", "ignore")
    },
}
"""What pyproject.toml says under [tool.doit.plugins]."""


def run(namespace: Mapping[str, Any]) -> None:
    """Called at the end of a dodo.py. Does nothing where our loader reads it.

    doit without our loader imports the dodo.py to find tasks in it; `python dodo.py` runs it.
    Both are answered by doit with our loader, which then ends the process with its exit code.
    """
    started = namespace.get("__name__") == "__main__" or doit_loader.initial_workdir is not None
    if started and not Loader.loading:
        sys.modules.pop(str(namespace.get("__name__")), None)  # to be read again, by our loader
        sys.exit(
            DoitMain(extra_config={"GLOBAL": {"loader": "qnnbuild"}, **PLUGINS}).run(sys.argv[1:])
        )
