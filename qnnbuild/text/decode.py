"""Bytes → text that YAML can read, or one clear problem."""

from __future__ import annotations

import re

from qnnbuild.errors import Problem, Span

MAX_BYTES = 256 << 10
LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")  # what YAML 1.1 counts as one
_UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")


def decode(file: str, text: str | bytes) -> str | Problem:
    """The text without its byte order mark."""
    if len(text) > MAX_BYTES:
        return Problem(
            message=f"the file is larger than {MAX_BYTES >> 10} KiB",
            at=Span(file=file, line=1, column=1),
            hint="a recipe is a page of text; is this the right file?",
        )
    decoded = _utf8(file, text) if isinstance(text, bytes) else text
    if isinstance(decoded, Problem):
        return decoded
    decoded = decoded.removeprefix("\ufeff")
    bad = _UNREADABLE.search(decoded)
    return _unreadable(file, decoded, bad) if bad else decoded


def lines_of(text: str) -> list[str]:
    return LINE_END.split(text)


def _utf8(file: str, data: bytes) -> str | Problem:
    if data.startswith(_UTF16):
        return Problem(
            message="the file is UTF-16",
            at=Span(file=file, line=1, column=1),
            hint="save it as UTF-8",
        )
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        return Problem(
            message=f"byte 0x{data[error.start]:02x} is not UTF-8",
            at=_place(file, before, data.decode("utf-8", errors="replace")),
            hint="save the file as UTF-8",
        )


def _unreadable(file: str, text: str, bad: re.Match[str]) -> Problem:
    code = ord(bad.group())
    what = "a NUL byte" if code == 0 else f"the control character U+{code:04X}"
    return Problem(
        message=f"the file holds {what}",
        at=_place(file, text[: bad.start()], text),
        hint="is this a text file?" if code == 0 else "remove it",
    )


def _place(file: str, before: str, text: str) -> Span:
    lines = lines_of(before)
    column = len(lines[-1].removeprefix("\ufeff")) + 1
    line = lines_of(text)[len(lines) - 1].removeprefix("\ufeff")
    return Span(file=file, line=len(lines), column=column, end=column + 1, text=line)
