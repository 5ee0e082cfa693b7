"""The remote cache that settings name. Libraries are imported here, when it is first used."""

from __future__ import annotations

import os
from collections.abc import Mapping

from qnnbuild.model.remote_cache import RemoteCache as Settings
from qnnbuild.remote.cache import RemoteCache, Trouble


def open_cache(settings: Settings, environment: Mapping[str, str]) -> RemoteCache:
    """Raises Trouble when credentials or a package are missing; asks no server yet."""
    try:
        if settings.scheme in ("grpc", "grpcs"):
            return _grpc(settings, environment)
        if settings.scheme in ("http", "https"):
            return _http(settings, environment)
        return _objects(settings)
    except ImportError as error:
        name = error.name or "a package of it"
        install = f"pip install 'qnnbuild[{EXTRAS.get(settings.scheme, 'remote')}]'"
        missing = f"{name} is not installed, which {settings.scheme}:// needs"
        raise Trouble(f"{missing}: {install}") from error


EXTRAS = {"s3": "s3", "gs": "gcs", "az": "azure"}


def _grpc(settings: Settings, environment: Mapping[str, str]) -> RemoteCache:
    # read when it is imported: it would say on stderr what we tell in our own words, and is not to
    # take part in the forks of a build, whose children start programs of their own at once
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    os.environ.setdefault("GRPC_ENABLE_FORK_SUPPORT", "0")
    from qnnbuild.remote.credentials import credentials
    from qnnbuild.remote.grpc_cache import GrpcCache

    return GrpcCache(
        settings.url,
        instance=settings.instance,
        timeout_s=settings.timeout_s,
        headers=credentials(settings.url, environment),
    )


def _http(settings: Settings, environment: Mapping[str, str]) -> RemoteCache:
    from qnnbuild.remote.credentials import credentials
    from qnnbuild.remote.http import HttpCache

    return HttpCache(
        settings.url,
        instance=settings.instance,
        timeout_s=settings.timeout_s,
        headers=credentials(settings.url, environment),
    )


def _objects(settings: Settings) -> RemoteCache:
    from qnnbuild.remote.objects import ObjectCache

    return ObjectCache(settings.url, folder=settings.instance, timeout_s=settings.timeout_s)
