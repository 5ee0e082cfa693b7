"""FlatBuffers read without a schema: fields by their number, every access checked."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.format_error import FormatError

MAX_VECTOR = 1 << 20
"""No list that is read here is longer; damaged lengths are found before they cost anything."""


def root(data: memoryview) -> Table:
    """The root table of a buffer that begins with the root's offset."""
    return Table(data=data, at=_read(data, "<I", 0))


@dataclass(frozen=True, kw_only=True)
class Table:
    data: memoryview
    at: int

    def number(self, field: int, form: str, default: int = 0) -> int:
        """A scalar; `form` is struct's letter. A field that is not there has its default."""
        place = self._field(field)
        return default if place is None else int(_read(self.data, f"<{form}", place))

    def real(self, field: int) -> float:
        place = self._field(field)
        return 0.0 if place is None else float(_read(self.data, "<f", place))

    def three(self, field: int) -> tuple[int, int, int]:
        """A version number of three words, stored in place."""
        place = self._field(field)
        if place is None:
            raise FormatError(f"field {field} is not there")
        _check(self.data, place, 12)
        return struct.unpack_from("<3I", self.data, place)

    def table(self, field: int) -> Table:
        return Table(data=self.data, at=self._follow(field))

    def text(self, field: int) -> str:
        return _text(self.data, self._follow(field))

    def raw(self, field: int) -> memoryview:
        """A vector of bytes."""
        start, count = self._vector(field, 1)
        return self.data[start : start + count]

    def numbers(self, field: int) -> tuple[int, ...]:
        """A vector of 32-bit numbers; empty when it is not there."""
        if self._field(field) is None:
            return ()
        start, count = self._vector(field, 4)
        return struct.unpack_from(f"<{count}I", self.data, start)

    def tables(self, field: int) -> list[Table]:
        """A vector of tables; empty when it is not there."""
        return [Table(data=self.data, at=place) for place in self._places(field)]

    def texts(self, field: int) -> list[str]:
        return [_text(self.data, place) for place in self._places(field)]

    def has(self, field: int) -> bool:
        return self._field(field) is not None

    def _field(self, field: int) -> int | None:
        vtable = self.at - _read(self.data, "<i", self.at)
        length = _read(self.data, "<H", vtable)
        slot = 4 + 2 * field
        if slot + 2 > length:
            return None
        offset = _read(self.data, "<H", vtable + slot)
        return self.at + offset if offset else None

    def _follow(self, field: int) -> int:
        place = self._field(field)
        if place is None:
            raise FormatError(f"field {field} is not there")
        return place + int(_read(self.data, "<I", place))

    def _places(self, field: int) -> list[int]:
        if self._field(field) is None:
            return []
        start, count = self._vector(field, 4)
        return [
            place + int(_read(self.data, "<I", place))
            for place in range(start, start + 4 * count, 4)
        ]

    def _vector(self, field: int, width: int) -> tuple[int, int]:
        place = self._follow(field)
        count = _read(self.data, "<I", place)
        if count > MAX_VECTOR:
            raise FormatError(f"a list of {count} entries is not believable")
        _check(self.data, place + 4, count * width)
        return place + 4, count


def _text(data: memoryview, place: int) -> str:
    count = _read(data, "<I", place)
    _check(data, place + 4, count)
    try:
        return bytes(data[place + 4 : place + 4 + count]).decode()
    except UnicodeDecodeError:
        raise FormatError("a name is not UTF-8") from None


def _check(data: memoryview, place: int, size: int) -> None:
    if place < 0 or size < 0 or place + size > len(data):
        raise FormatError("an offset leads outside")


def _read(data: memoryview, form: str, place: int) -> Any:
    _check(data, place, struct.calcsize(form))
    return struct.unpack_from(form, data, place)[0]
