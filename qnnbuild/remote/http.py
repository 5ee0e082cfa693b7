"""Bazel's plain form: GET, PUT and HEAD on <address>/ac/<sha256> and <address>/cas/<sha256>."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.util.retry import Retry

from qnnbuild.digest import Digest
from qnnbuild.remote.cache import EMPTY, RESULT_LIMIT, Content, Landing, Trouble, landed, several

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIES = 3
PART = 1 << 16
THERE, NOT_THERE = (200, 206), (404, 410)
TAKEN = (200, 201, 202, 204)


class _Known(requests.auth.AuthBase):
    """Goes before what requests itself would take from netrc; not for other servers."""

    def __init__(self, headers: Mapping[str, str]) -> None:
        self.headers = headers

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers.update(self.headers)
        return request


class HttpCache:
    def __init__(
        self, url: str, *, instance: str, timeout_s: float, headers: Mapping[str, str]
    ) -> None:
        self.url = f"{url}/{instance}" if instance else url
        self.timeout_s = timeout_s
        # when a redirect leads to another server, requests takes this one header away
        self._follows = set(headers) <= {"authorization"}
        self._session = requests.Session()
        self._session.auth = _Known(headers)
        self._session.headers.update({"Accept-Encoding": "identity", "User-Agent": "qnnbuild"})
        retry = Retry(
            total=TRIES,
            connect=2,
            read=1,
            redirect=3,
            status_forcelist=(408, 429, 500, 502, 503, 504),
            backoff_factor=0.2,
            backoff_jitter=0.1,
            # a server may not make a build wait for as long as it likes
            respect_retry_after_header=False,
            raise_on_status=False,
        )
        adapter = HTTPAdapter(max_retries=retry, pool_maxsize=16, pool_block=True)
        self._session.mount("https://", adapter)
        self._session.mount("http://", adapter)

    def result(self, action: Digest, _size: int) -> bytes | None:
        with self._asked("GET", f"ac/{action}") as answer:
            if answer.status_code in NOT_THERE:
                return None
            self._expect(answer, THERE)
            until = time.monotonic() + 2 * self.timeout_s
            result = bytearray()
            for part in self._parts(answer, until):
                result += part
                if len(result) > RESULT_LIMIT:
                    raise Trouble("it sent a result without end")
            return bytes(result)

    def put_result(self, action: Digest, _size: int, result: bytes) -> None:
        with self._asked("PUT", f"ac/{action}", data=result) as answer:
            self._expect(answer, TAKEN)

    def missing(self, wanted: Mapping[Digest, int]) -> set[Digest]:
        found = set(wanted) - {EMPTY}

        def look(digest: Digest) -> None:
            with self._asked("HEAD", f"cas/{digest}") as answer:
                if answer.status_code in THERE:
                    found.discard(digest)
                else:
                    self._expect(answer, NOT_THERE)

        several(look, tuple(found))
        return found

    def upload(self, contents: Iterable[Content]) -> None:
        several(self._upload, contents)

    def _upload(self, content: Content) -> None:
        with (
            content.opened() as file,
            self._asked("PUT", f"cas/{content.digest}", data=file) as answer,
        ):
            self._expect(answer, TAKEN)

    def fetch(self, landings: Iterable[Landing]) -> dict[Digest, str]:
        failed: dict[Digest, str] = {}

        def fetch(landing: Landing) -> None:
            wrong = landed(landing, self._fill)
            if wrong is not None:
                failed[landing.digest] = wrong

        several(fetch, landings)
        return failed

    def _fill(self, landing: Landing) -> bool:
        if landing.size == 0:
            return True
        until = time.monotonic() + self.timeout_s + landing.patience_s
        for last in (False, True):  # a connection that breaks in the middle has a second chance
            landing.start()
            with self._asked("GET", f"cas/{landing.digest}") as answer:
                if answer.status_code in NOT_THERE:
                    return False
                self._expect(answer, THERE)
                try:
                    for part in self._parts(answer, until):
                        landing.write(part)
                except Trouble:
                    if last:
                        raise
                    continue
            if not landing.is_short:
                break
        return True

    @contextmanager
    def _asked(self, method: str, path: str, data: Any = None) -> Iterator[requests.Response]:
        try:
            answer = self._session.request(
                method,
                f"{self.url}/{path}",
                data=data,
                stream=True,
                timeout=self.timeout_s,
                allow_redirects=self._follows and method == "GET",
            )
        except requests.RequestException as error:
            raise Trouble(_words(error)) from None  # the error shows headers and addresses
        with closing(answer):
            yield answer

    def _expect(self, answer: requests.Response, wanted: tuple[int, ...]) -> None:
        if answer.status_code not in wanted:
            raise Trouble(f"it answers {answer.status_code}{_hint(answer.status_code)}")

    def _parts(self, answer: requests.Response, until: float) -> Iterator[bytes]:
        try:
            while part := answer.raw.read1(PART):
                yield part
                if time.monotonic() > until:
                    raise Trouble("it is too slow")
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Trouble(_words(error)) from None

    def close(self) -> None:
        self._session.close()


def _hint(status: int) -> str:
    if status in (401, 403, 407):
        return ": it wants credentials, or others"
    if status == 405:
        return ": it takes no uploads"
    if status == 413:
        return ": the file is too large for it"
    return ""


def _words(error: Exception) -> str:
    """What is wrong in words of our own: those of the libraries hold addresses and headers."""
    if isinstance(error, requests.exceptions.SSLError | urllib3.exceptions.SSLError):
        return "its certificate is not trusted"
    causes = [error, *_causes(error)]
    if any(isinstance(cause, urllib3.exceptions.NewConnectionError) for cause in causes):
        return "it cannot be reached"  # which urllib3 counts among what is late
    late = (requests.Timeout, urllib3.exceptions.TimeoutError, TimeoutError)
    if any(isinstance(cause, late) for cause in causes):
        return "it does not answer in time"
    if isinstance(error, urllib3.exceptions.ProtocolError):
        return "it broke off in the middle"
    if isinstance(error, requests.exceptions.RetryError | requests.TooManyRedirects):
        return "it fails each time"
    return "it cannot be reached"


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What libraries wrapped: in args, `reason` and __context__."""
    waiting: list[Any] = [error]
    for _ in range(20):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, BaseException):
            yield one
            waiting += [*one.args, getattr(one, "reason", None), one.__context__]
