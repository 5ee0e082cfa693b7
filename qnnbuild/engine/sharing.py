"""The remote store that settings and environment ask for, and how it tells its troubles."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import partial

from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.store import Store
from qnnbuild.errors import Problem
from qnnbuild.model.remote_cache import RemoteCache, with_environment
from qnnbuild.remote.opening import open_cache
from qnnbuild.text.render import github, terminal, wants_colour


def remote_store(
    settings: RemoteCache | None, environment: Mapping[str, str], store: Store, records: Records
) -> RemoteStore:
    """Asks no server yet. Raises RecipeError when the environment names none that can be."""
    settings = with_environment(settings, environment)
    if settings is None:
        return RemoteStore(store, records)
    opened = partial(open_cache, settings, environment)
    return RemoteStore(store, records, settings=settings, opened=opened, tell=tell)


def tell(problem: Problem) -> None:
    """At once: what a build learns of a server is of no use at its end."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        text = github([problem])
    else:
        text = terminal([problem], colour=wants_colour(sys.stderr, os.environ))
    sys.stderr.write(text)
    sys.stderr.flush()
