"""The wire format of Protocol Buffers, read without a schema and without copying."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.formats.format_error import FormatError

Value = int | memoryview


def fields(message: memoryview) -> Iterator[tuple[int, Value]]:
    """Number and value of each field: an int for varints, the bytes for everything else."""
    at, end = 0, len(message)
    while at < end:
        tag, at = _varint(message, at)
        number, wire = tag >> 3, tag & 7
        if number == 0:
            raise FormatError("not a protobuf: a field with the number 0")
        if wire == 0:
            value, at = _varint(message, at)
            yield number, value
            continue
        if wire == 2:
            length, at = _varint(message, at)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise FormatError(f"not a protobuf: wire type {wire}")
        if at + length > end:
            raise FormatError("cut short: a field ends past its message")
        yield number, message[at : at + length]
        at += length


def varints(value: Value) -> Iterator[int]:
    """A repeated integer: one value, or several packed into bytes."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number


def text(value: Value) -> str:
    if isinstance(value, int):
        raise FormatError("damaged: a number where text belongs")
    try:
        return bytes(value).decode()
    except UnicodeDecodeError:
        raise FormatError("damaged: text that is not UTF-8") from None


def message(value: Value) -> memoryview:
    if isinstance(value, int):
        raise FormatError("damaged: a number where a message belongs")
    return value


def integer(value: Value) -> int:
    """A signed integer."""
    if not isinstance(value, int):
        raise FormatError("damaged: bytes where a number belongs")
    return value - (1 << 64) if value >= 1 << 63 else value


def _varint(data: memoryview, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            raise FormatError("cut short: a number is not whole")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & 0xFFFFFFFFFFFFFFFF, at
    raise FormatError("not a protobuf: a number of more than ten bytes")
