"""What a file says of one input or output."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class TensorFacts:
    """`shape` keeps a symbolic dimension's name as text; a dimension without a name is "?"."""

    name: str
    dtype: str
    shape: tuple[int | str, ...]
    scale: float | None = None  # of one scale for the whole tensor
    zero_point: int | None = None


@dataclass(frozen=True, kw_only=True)
class GraphFacts:
    name: str
    inputs: tuple[TensorFacts, ...]
    outputs: tuple[TensorFacts, ...]
    operators: tuple[tuple[str, int], ...] = ()  # most frequent first


def qnn_dtype(code: int) -> str:
    """numpy's name of a QNN data type code.

    The high byte is the class, the low byte the width in bits written as if it were decimal:
    0x0232 is a float of 32 bits, 0x0408 an unsigned fixed point number of 8. Seen in binaries of
    models whose types are known.
    """
    kind = {0: "int", 1: "uint", 2: "float", 3: "int", 4: "uint", 5: "bool", 6: "str"}.get(
        code >> 8
    )
    width = f"{code & 0xFF:x}"
    if kind in ("bool", "str"):
        return kind
    return f"{kind}{int(width)}" if kind and width.isdigit() and int(width) else f"0x{code:04x}"
