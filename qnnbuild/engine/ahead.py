"""A first build: what it will surely need is made ready while its sources are still looked at."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING

from qnnbuild.errors import QnnbuildError

if TYPE_CHECKING:
    from qnnbuild.engine.builder import Builder
    from qnnbuild.engine.identity import Identity

HEAVY = "package:"
"""Tools that are measured by reading hundreds of megabytes."""


def make_ready(builder: Builder, names: Collection[str]) -> None:
    """Start the server with what `names` call, and measure their tools, in the background.

    Only where all of it will be wanted: nothing was ever built in this store, no other machine
    may have made it, and it runs here.
    """
    elsewhere = builder.executor is not builder.runner or builder.remote.settings is not None
    if elsewhere or not names or not builder.store.is_empty:
        return
    actions = [builder.plan[name] for name in names]
    modules = dict.fromkeys(action.call.partition(":")[0] for action in actions if action.call)
    with suppress(OSError):  # no room for a process: the first action tells it
        builder.runner.workers.begin(tuple(modules))
    tools = dict.fromkeys(tool for action in actions for tool in action.tools)
    heavy = [tool for tool in tools if tool.startswith(HEAVY)]
    args = (builder.identity, heavy)
    threading.Thread(target=_measure, args=args, name="measure", daemon=True).start()


def _measure(identity: Identity, tools: Collection[str]) -> None:
    for tool in tools:
        try:
            identity.measure(tool)
        except (QnnbuildError, OSError):
            continue  # whoever needs it says so, with the place in the recipe
