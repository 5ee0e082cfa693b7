"""The remote cache that settings name. Libraries are imported here, when it is first used."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.model.remote_cache import RemoteCache as Settings
from qnnbuild.remote.cache import RemoteCache


def open_cache(settings: Settings, environment: Mapping[str, str]) -> RemoteCache:
    """Raises Trouble when credentials or a package are missing; asks no server yet."""
    from qnnbuild.remote.credentials import authorization
    from qnnbuild.remote.http import HttpCache

    return HttpCache(
        settings.url,
        instance=settings.instance,
        timeout_s=settings.timeout_s,
        authorization=authorization(settings.url, environment),
    )
