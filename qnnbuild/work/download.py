"""Download one file over http, https or from a file: URL, patiently, and check its digest."""

from __future__ import annotations

import os
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import unquote, urlsplit, urlunsplit

import requests
import urllib3

from qnnbuild.digest import Digest, digest_file
from qnnbuild.work.run import WorkError

TRIES = 4
BLOCK = 1 << 16  # what is lost at most of a download that breaks
FIRST_WAIT_S = 1.0  # then twice as long each time
CONNECT_S = 20.0
SILENCE_S = 60.0
MAX_WAIT_S = 60.0  # what a server may ask for by Retry-After
WORTH_ANOTHER_TRY = frozenset({408, 425, 429, 500, 502, 503, 504})

CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")

HEADERS = {
    "User-Agent": "qnnbuild",
    # the pinned digest is that of the file, so the file has to come as it is
    "Accept-Encoding": "identity",
}

NO_URL = (
    requests.exceptions.InvalidURL,
    requests.exceptions.InvalidSchema,
    urllib3.exceptions.LocationParseError,
)


@dataclass(kw_only=True)
class _Part:
    """What is here already, and how to ask for the rest of the same file."""

    path: Path
    validator: str | None = None  # a strong ETag or a date: without one a rest cannot be trusted
    trouble: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        return self.path.stat().st_size if self.path.exists() else 0

    def headers(self) -> dict[str, str]:
        if self.size and self.validator:
            return {**HEADERS, "Range": f"bytes={self.size}-", "If-Range": self.validator}
        return dict(HEADERS)


def download(url: str, to: Path) -> None:
    """Put the file behind `url` at `to`, with the machine's proxies, netrc and certificates."""
    try:
        scheme = urlsplit(url).scheme
    except ValueError as error:
        raise _no_url(url) from error
    if scheme == "file":
        _copy_local(url, to)
        return
    if scheme not in ("http", "https"):
        raise WorkError(
            f"a '{scheme}' URL cannot be downloaded" if scheme else f"'{url}' is not a URL",
            place="source.url",
            hint="http, https and file URLs can be downloaded",
            exit_code=2,
        )
    try:
        requests.Request("GET", url).prepare()
    except NO_URL as error:
        raise _no_url(url) from error
    part = _Part(path=to)
    with requests.Session() as session:
        session.verify = _certificates()
        for attempt in range(TRIES):
            wait = _attempt(session, url, part)
            if wait is None:
                return
            if attempt + 1 < TRIES:
                time.sleep(max(wait, FIRST_WAIT_S * 2**attempt))
    raise WorkError(
        f"{urlsplit(url).hostname} did not give the file in {TRIES} tries",
        place="source.url",
        facts=[("url", shown(url)), *(("try", text) for text in dict.fromkeys(part.trouble))],
        hint="check the network and the proxy settings (https_proxy, no_proxy), then run again",
    )


def check_digest(path: Path, wanted: Digest, what: str) -> None:
    """Refuse a file that is not the pinned one; both digests are shown."""
    got = digest_file(path)
    if got != wanted:
        raise WorkError(
            f"{what} is not the file that the recipe pins",
            place="source.sha256",
            facts=[("pinned", wanted), ("got", got), ("size", f"{path.stat().st_size} bytes")],
            hint=f"if the new file is meant, write sha256: {got}",
        )


def shown(url: str) -> str:
    """The URL without a password, a token or a signature in it."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path, "…" if parts.query else "", ""))


def is_page(path: Path) -> bool:
    """Whether a server sent a page for people (a login, an error) in place of a file."""
    with path.open("rb") as file:
        start = file.read(1024).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return start.startswith((b"<!doctype html", b"<html", b"<head"))


def _attempt(session: requests.Session, url: str, part: _Part) -> float | None:
    """None when the file is complete, else how many seconds the server wants to be left alone."""
    try:
        with session.get(
            url, headers=part.headers(), stream=True, timeout=(CONNECT_S, SILENCE_S)
        ) as response:
            if response.status_code == 416:  # the file is another one, or shorter, by now
                part.path.unlink(missing_ok=True)
                part.trouble.append("416: the rest of the file is not there")
                return 0.0
            if response.status_code in WORTH_ANOTHER_TRY:
                part.trouble.append(f"{response.status_code} {response.reason}")
                return _retry_after(response)
            if response.status_code not in (200, 206):
                raise _refused(url, response)
            return _take(response, part)
    except requests.exceptions.SSLError as error:
        raise WorkError(
            f"the certificate of {urlsplit(url).hostname} is not trusted here",
            place="source.url",
            facts=[("url", shown(url)), ("reason", _reason(error))],
            hint="REQUESTS_CA_BUNDLE names a file of certificates to trust",
        ) from error
    except (requests.RequestException, urllib3.exceptions.HTTPError) as error:
        if isinstance(error, NO_URL):  # the URL itself was looked at before
            raise _bad_address(url, error) from error
        part.trouble.append(_reason(error))
        return 0.0


def _bad_address(url: str, error: Exception) -> WorkError:
    return WorkError(
        "the proxy of this machine, or what the server points to, is no usable address",
        place="source.url",
        facts=[("url", shown(url)), ("reason", str(error))],
        hint="http_proxy and https_proxy look like http://host:port",
    )


def _no_url(url: str) -> WorkError:
    return WorkError(
        f"'{url}' is not the URL of a file",
        place="source.url",
        hint="https://host/folder/file, file:///folder/file",
        exit_code=2,
    )


def _take(response: requests.Response, part: _Part) -> float | None:
    more = response.status_code == 206
    if more and _starts_at(response) != part.size:
        part.path.unlink(missing_ok=True)
        part.trouble.append("206: another part of the file than was asked for")
        return 0.0
    etag = response.headers.get("ETag", "")
    strong = etag if etag and not etag.startswith("W/") else None
    part.validator = strong or response.headers.get("Last-Modified")
    part.path.parent.mkdir(parents=True, exist_ok=True)
    with part.path.open("ab" if more else "wb", buffering=0) as file:
        for block in response.raw.stream(BLOCK, decode_content=False):
            _write(file, block)
    return None


def _write(file: IO[bytes], block: bytes) -> None:
    """The disk's trouble is not the server's: trying again would not help."""
    try:
        while block:
            block = block[file.write(block) :]
    except OSError as error:
        raise WorkError(
            f"the download cannot be written: {error.strerror}", place="source.url", exit_code=6
        ) from error


def _starts_at(response: requests.Response) -> int | None:
    unit, _, span = response.headers.get("Content-Range", "").partition(" ")
    first = span.partition("-")[0]
    return int(first) if unit == "bytes" and first.isdigit() else None


def _retry_after(response: requests.Response) -> float:
    said = response.headers.get("Retry-After", "")
    return min(float(said), MAX_WAIT_S) if said.isdigit() else 0.0


def _refused(url: str, response: requests.Response) -> WorkError:
    hint = None
    if response.status_code in (401, 403):
        hint = "a login for this host goes into ~/.netrc"
    if response.status_code in (404, 410):
        hint = "the file was moved or removed, or the URL has a typo"
    return WorkError(
        f"the server answered {response.status_code} {response.reason}",
        place="source.url",
        facts=[("url", shown(url))],
        hint=hint,
    )


def _reason(error: Exception) -> str:
    """The innermost cause in its own words: the outer ones repeat addresses of objects."""
    cause: object = error
    while isinstance(cause, BaseException):
        inner = getattr(cause, "reason", None) or (cause.args[-1] if cause.args else None)
        if not isinstance(inner, BaseException):
            break
        cause = inner
    text = str(cause)
    numbered = re.search(r"\[Errno -?\d+\] ([^'\")]+)", text)
    return numbered[1] if numbered else text or type(error).__name__


def _certificates() -> str | bool:
    """requests' own variables, then OpenSSL's, which the rest of the machine uses."""
    for name in CERTIFICATES:
        path = os.environ.get(name)
        if path and not Path(path).exists():
            raise WorkError(
                "the file of trusted certificates is not there",
                place="source.url",
                facts=[(name, path)],
                hint=f"mend or unset {name}",
            )
        if path:
            return path
    return True


def _copy_local(url: str, to: Path) -> None:
    parts = urlsplit(url)
    path = Path(unquote(parts.path))
    if parts.netloc not in ("", "localhost") or not path.is_absolute():
        raise WorkError(
            f"'{url}' names no file of this machine", place="source.url", hint="file:///folder/name"
        )
    if not path.is_file():
        raise WorkError(f"there is no file {path}", place="source.url", facts=[("url", url)])
    to.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(path, to)
