"""Object stores and folders through fsspec, in the plain form's layout: ac/<sha256>, cas/<sha256>.

Credentials are those of each service's own tools: AWS_…, GOOGLE_APPLICATION_CREDENTIALS, AZURE_….
"""

from __future__ import annotations

import logging
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

import fsspec
from fsspec.exceptions import FSTimeoutError

from qnnbuild.digest import Digest
from qnnbuild.remote.cache import (
    EMPTY,
    RESULT_LIMIT,
    Content,
    Landing,
    Trouble,
    Wrong,
    landed,
    several,
)

TALKATIVE = ("adlfs", "aiobotocore", "azure", "botocore", "fsspec", "gcsfs", "s3fs")
"""Libraries that would print warnings of their own, with addresses in them, beside ours."""

PART = 1 << 22
AT_ONCE = 8 << 20
"""Up to this many bytes go in one request, and are there as a whole or not at all."""


class ObjectCache:
    def __init__(self, url: str, *, folder: str, timeout_s: float) -> None:
        for name in TALKATIVE:
            logging.getLogger(name).addHandler(logging.NullHandler())
        scheme = urlsplit(url).scheme
        self._is_local = scheme == "file"
        with _in_words():
            self._files, root = fsspec.core.url_to_fs(url, **_options(scheme, timeout_s))
        self._root = f"{root.rstrip('/')}/{folder}" if folder else root.rstrip("/")

    def result(self, action: Digest, _size: int, /) -> bytes | None:
        path = self._path("ac", action)
        with _in_words():
            size = self._size(path)
            if size is None:
                return None
            if size > RESULT_LIMIT:
                raise Trouble("it has a result without end")
            try:
                found: bytes = self._files.cat_file(path)
            except FileNotFoundError:  # just now
                return None
        return found

    def put_result(self, action: Digest, _size: int, result: bytes, /) -> None:
        with _in_words():
            self._put_small(self._path("ac", action), result)

    def missing(self, wanted: Mapping[Digest, int]) -> set[Digest]:
        found = set(wanted) - {EMPTY}

        def look(digest: Digest) -> None:
            with _in_words():
                # one of another size is what is left of an upload that broke off
                if self._size(self._path("cas", digest)) == wanted[digest]:
                    found.discard(digest)

        several(look, tuple(found))
        return found

    def upload(self, contents: Iterable[Content]) -> None:
        several(self._upload, contents)

    def _upload(self, content: Content) -> None:
        path = self._path("cas", content.digest)
        with _in_words(), content.opened() as file:
            if content.size <= AT_ONCE:
                self._put_small(path, file.read(content.size + 1))
                return
            with self._files.open(self._beside(path), "wb") as to:
                shutil.copyfileobj(file, to, PART)
                beside = to.path
            self._settle(beside, path)

    def _put_small(self, path: str, data: bytes) -> None:
        beside = self._beside(path)
        self._files.pipe_file(beside, data)
        self._settle(beside, path)

    def _beside(self, path: str) -> str:
        """Where it is written: an object is there when it is whole, a file of a folder at once."""
        return f"{path}.{uuid.uuid4().hex}.new" if self._is_local else path

    def _settle(self, beside: str, path: str) -> None:
        if beside != path and self._is_local:
            self._files.mv(beside, path)

    def fetch(self, landings: Iterable[Landing]) -> dict[Digest, str]:
        failed: dict[Digest, str] = {}

        def fetch(landing: Landing) -> None:
            wrong = landed(landing, self._fill)
            if wrong is not None:
                failed[landing.digest] = wrong

        several(fetch, landings)
        return failed

    def _fill(self, landing: Landing) -> bool:
        if landing.digest == EMPTY:
            return True
        with _in_words():
            path = self._path("cas", landing.digest)
            size = self._size(path)
            if size is None:
                return False
            if size != landing.size:
                raise Wrong(f"{size:,} of the {landing.size:,} bytes of {landing.digest}")
            with self._files.open(path, "rb", block_size=PART) as file:
                while part := file.read(PART):
                    landing.write(part)
        return True

    def _size(self, path: str) -> int | None:
        try:
            return int(self._files.info(path)["size"])
        except FileNotFoundError:
            return None

    def _path(self, kind: str, digest: Digest) -> str:
        return f"{self._root}/{kind}/{digest}"

    def close(self) -> None:
        """fsspec closes its sessions itself."""


def _options(scheme: str, timeout_s: float) -> dict[str, Any]:
    """How long each service's library waits, and how often it tries, in its own words."""
    usual = {"use_listings_cache": False, "skip_instance_cache": True}
    if scheme == "file":
        return {"auto_mkdir": True, "skip_instance_cache": True}
    if scheme == "s3":
        waits = {"connect_timeout": timeout_s, "read_timeout": timeout_s}
        retries = {"max_attempts": 3, "mode": "standard"}
        return {**usual, "config_kwargs": {**waits, "retries": retries}}
    if scheme == "gs":
        return {**usual, "requests_timeout": timeout_s}
    return {**usual, "connection_timeout": timeout_s, "read_timeout": timeout_s}


@contextmanager
def _in_words() -> Iterator[None]:
    """Each service brings its own errors, whose texts may show addresses that are signed."""
    try:
        yield
    except (Trouble, Wrong, FileNotFoundError, ImportError):
        raise
    except PermissionError:
        raise Trouble("it does not let us do that") from None
    except (FSTimeoutError, TimeoutError):
        raise Trouble("it does not answer in time") from None
    except Exception as error:  # noqa: BLE001 - botocore, aiohttp and azure have no class in common
        raise Trouble(f"it fails: {type(error).__name__}") from None
