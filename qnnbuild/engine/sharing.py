"""The remote store that settings and environment ask for, and how it tells its troubles."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from qnnbuild.engine.records import Records
from qnnbuild.engine.remote_store import RemoteStore
from qnnbuild.engine.result_signing import Signing, trusted_keys
from qnnbuild.engine.store import Store
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.errors import Problem, Span
from qnnbuild.model.remote_cache import READ, TRUSTED_KEYS, URL, RemoteCache, with_environment
from qnnbuild.remote.opening import open_cache
from qnnbuild.text.render import github, terminal, wants_colour


def remote_store(
    settings: RemoteCache | None,
    environment: Mapping[str, str],
    store: Store,
    records: Records,
    trust: Trust = TRUSTED,
    *,
    root: Path = Path(),
    at: Span | None = None,
) -> RemoteStore:
    """Asks no server yet. Raises RecipeError when the environment names none that can be, or a
    trusted key is none; `root` is where files of keys are, `at` where the settings name them.
    """
    settings = _allowed(settings, environment, trust)
    if settings is None:
        return RemoteStore(store, records)
    if TRUSTED_KEYS in environment:
        at = None
    return RemoteStore(
        store,
        records,
        settings=settings,
        opened=partial(open_cache, settings, environment),
        signing=Signing(trusted_keys(settings.trusted_keys, root, at), environment),
        tell=tell,
    )


def _allowed(
    settings: RemoteCache | None, environment: Mapping[str, str], trust: Trust
) -> RemoteCache | None:
    """A repo of strangers names no server, which would get our token and fill our store with what
    it likes, and shares nothing: a cache that others trust has only what trusted builds made.
    """
    if trust.given:
        return with_environment(settings, environment)
    if settings is not None and environment.get(URL) is None:
        message = "the remote cache of qnnbuild.yaml is left alone: this repo is not trusted"
        hint = f"a cache that may be read is named in the environment: {URL}"
        facts = (("not trusted", trust.why),)
        tell(Problem(message=message, facts=facts, hint=hint, severity="warning"))
    named = with_environment(None, environment)
    return replace(named, mode=READ) if named is not None else None


def tell(problem: Problem) -> None:
    """At once: what a build learns of a server is of no use at its end."""
    if os.environ.get("GITHUB_ACTIONS") == "true":
        text = github([problem])
    else:
        text = terminal([problem], colour=wants_colour(sys.stderr, os.environ))
    sys.stderr.write(text)
    sys.stderr.flush()
