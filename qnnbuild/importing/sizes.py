"""Sizes of dimensions that an ONNX file leaves open: given, asked, or guessed and told so."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.errors import RecipeError, did_you_mean

Shape = tuple[int | str, ...]
Ask = Callable[[str, int], int]
"""(the question, the guess) → what the user says."""

_MEANT: Sequence[tuple[str, int, str]] = (
    (r"(?:.*_)?(?:batch|bs|n|b)(?:_?size)?|batch.*|unk__\d+_batch", 1, "a batch of one"),
    (r"(?:.*_)?(?:channels?|c)", 3, "colours"),
    (r"(?:.*_)?(?:samples?|num_samples|audio.*|wave.*)", 16000, "a second at 16 kHz"),
    (r"(?:.*_)?(?:frames?|time|t|num_frames|feats?_length)", 100, "frames of one second"),
    (r"past.*|.*(?:seq|token|len|length).*|s|l", 128, "a sequence"),
    (r"(?:.*_)?(?:height|h|width|w|image_?size|img_?size|size)", 224, "pixels"),
)
"""A pattern for the symbol in small letters, the usual size, and what is taken for it."""

_COLOURS = (1, 3, 4)


@dataclass(kw_only=True)
class Sizes:
    """What settles open dimensions. Whatever is asked or guessed once counts for its symbol."""

    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict)  # by input
    dims: Mapping[str, int] = field(default_factory=dict)  # by symbol
    ask: Ask | None = None  # None: guesses count
    settled: dict[str, int] = field(default_factory=dict)
    used: set[str] = field(default_factory=set)  # inputs and symbols that were of use


@dataclass(frozen=True)
class Open:
    """One open dimension of an input."""

    input: str
    symbol: str
    index: int
    shape: Shape
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The shape of one input, and what of it was guessed."""

    shape: tuple[int, ...]
    guessed: tuple[str, ...] = ()  # "batch = 1 (a batch of one)"


def settle(name: str, shape: Shape | None, dtype: str, sizes: Sizes) -> Settled | None:
    """The whole shape of an input; None when the file has all of it.

    Raises RecipeError for an input without any shape, and for a shape that it cannot have.
    """
    given = sizes.shapes.get(name)
    if given is not None:
        sizes.used.add(name)
        return _given(name, shape, given, sizes)
    if shape is None:
        raise RecipeError(
            f"input '{name}' has no shape in the file, not even how many dimensions it has",
            facts=[("type", dtype)],
            hint=f"--shape {name}=1,3,224,224 with its real sizes",
        )
    if all(isinstance(size, int) and size > 0 for size in shape):
        return None
    found: list[int] = []
    guessed: list[str] = []
    for index, size in enumerate(shape):
        if isinstance(size, int) and size > 0:
            found.append(size)
            continue
        value, why = _size(Open(name, str(size or "?"), index, shape, dtype), sizes)
        found.append(value)
        guessed += [why] if why else []
    return Settled(shape=tuple(found), guessed=tuple(dict.fromkeys(guessed)))


def _given(name: str, shape: Shape | None, given: Sequence[int], sizes: Sizes) -> Settled:
    had = shape or ()
    wrong = shape is not None and (
        len(had) != len(given)
        or any(
            isinstance(old, int) and old > 0 and old != new
            for old, new in zip(had, given, strict=False)
        )
    )
    if wrong:
        raise RecipeError(
            f"--shape {name}={','.join(map(str, given))} is no shape of that input",
            facts=[("in the file", written(had))],
            hint="sizes that the file has stay as they are",
        )
    for old, new in zip(had, given, strict=False):
        if isinstance(old, str) and _is_symbol(old):
            sizes.settled.setdefault(old, new)
    return Settled(shape=tuple(given))


def _size(one: Open, sizes: Sizes) -> tuple[int, str]:
    """A size, and how it was guessed; "" when the user said it."""
    symbol = one.symbol
    is_symbol = _is_symbol(symbol)
    if is_symbol and symbol in sizes.dims:
        sizes.used.add(symbol)
        return sizes.dims[symbol], ""
    if is_symbol and symbol in sizes.settled:
        value = sizes.settled[symbol]
        return value, "" if sizes.ask else f"{symbol} = {value}, as above"
    value, why = guess(symbol, one.index, one.shape, one.dtype)
    label = symbol if is_symbol else f"dimension {one.index}"
    if sizes.ask is not None:
        value, why = sizes.ask(f"{one.input} {written(one.shape)}: {label}", value), ""
    if is_symbol:
        sizes.settled[symbol] = value
    return value, f"{label} = {value} ({why})" if why else ""


def guess(symbol: str, index: int, shape: Shape, dtype: str) -> tuple[int, str]:
    """The usual size of such a dimension, and what it is taken for."""
    word = symbol.lower()
    if word == "n" and index > 0:  # N is the batch only where batches stand
        word = "?"
    for pattern, size, meant in _MEANT if _is_symbol(word) else ():
        if re.fullmatch(pattern, word):
            return size, meant
    if index == 0:
        return 1, "a batch of one"
    if len(shape) == 4 and dtype.startswith(("float", "uint8")):
        channel_first = shape[1] in _COLOURS or shape[3] not in _COLOURS
        if (index == 1 and channel_first) or (index == 3 and not channel_first):
            return 3, "colours"
        return 224, "pixels"
    if dtype in ("int64", "int32"):
        return 128, "a sequence"
    return 64, "nothing says what it is"


def check_used(sizes: Sizes, inputs: Sequence[str], symbols: Sequence[str]) -> None:
    """Every --shape and --dim is about something. Raises RecipeError."""
    for option, given, known in (
        ("--shape", sizes.shapes, inputs),
        ("--dim", sizes.dims, symbols),
    ):
        for name in given:
            if name not in sizes.used:
                kind = "input" if option == "--shape" else "open dimension"
                raise RecipeError(
                    f"{option} {name}: no {kind} is called so",
                    facts=[("there are", ", ".join(known) or "none")],
                    hint=did_you_mean(name, known),
                )


def written(shape: Sequence[int | str]) -> str:
    return f"[{', '.join(str(size) if size != '' else '?' for size in shape)}]"


def _is_symbol(size: str) -> bool:
    """Some exporters write '?' for every size that they do not know."""
    return any(letter.isalnum() for letter in size)
