"""Names that look like others, or are others on some disk: which letters do it, by their names.

Names of models, graphs, chips and variants are letters, digits and some signs of ASCII. Paths may
be in any script, so they are looked at for what nobody sees, and for words in two scripts of which
one passes for the other. After Unicode's TR 39, restricted to what passes for ASCII.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator

_PAIRS = (
    "аaеeоoрpсcуyхxіiјjѕsһhԁdԛqԝwѵvӏlАAВBЕEКKМMНHОOРPСCТTУYХXІIЈJЅSҮYԌGԚQԜWӀI"
    "οoνvΑAΒBΕEΖZΗHΙIΚKΜMΝNΟOΡPΤTΥYΧX"
    "օoոnսuհhցgզqՏSՕOԼL"
    "ᎪAᏴBᏟCᎬEᎻHᎫJᏦKᏞLᎷMᏢPᎡRᏚSᎢTᏙVᎳWᏃZ"  # Cherokee
    "ıiɡgɑaǀl"
)
HOLDS = "it holds"
"""The fact of an error that names letters."""

PASS_FOR = dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True))
"""Letters → the letter of ASCII that most fonts draw like them."""

JOINERS = "\u200c\u200d"
"""Seen by nobody, but a part of words in Persian and of scripts of India: not beside ASCII."""

FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks by their category, and nothing to see."""

_WIDE_SPACE = "\u3000"
"""What a keyboard for Japanese writes between words; other spaces pass for that of ASCII."""

_WORD = re.compile(r"[^\W\d_]+")


def told(char: str) -> str:
    """U+0430 CYRILLIC SMALL LETTER A."""
    return f"U+{ord(char):04X} {unicodedata.name(char, '')}".rstrip()


def all_told(chars: Iterable[str]) -> str:
    """Each once, in their order; of many the first ones."""
    found = list(dict.fromkeys(chars))
    more = f" and {len(found) - 4} more" if len(found) > 4 else ""
    return ", ".join(map(told, found[:4])) + more


def folded(name: str) -> str:
    """Equal for names that are one file on some disk: upper and lower case, parts of letters."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def skeleton(name: str) -> str:
    """Equal for names that look alike. Not for people to see."""
    seen = "".join(PASS_FOR.get(c, c) for c in unicodedata.normalize("NFKC", name))
    return folded("".join(c for c in seen if not is_hidden(c)))


def is_hidden(char: str) -> bool:
    """Whether nobody sees it: of no width, a mark of direction, an odd line end."""
    return unicodedata.category(char) in {"Cf", "Zl", "Zp"}


def hidden_in(name: str) -> str:
    """The characters of a name that nobody sees, without joiners that its script needs."""
    return "".join(
        char
        for at, char in enumerate(name)
        if char in FILLERS or (is_hidden(char) and not (char in JOINERS and _joins(name, at)))
    )


def false_in(name: str) -> str:
    """Letters that stand among those of ASCII in one word, and pass for some of them."""
    return "".join(char for word in _words(name) if not word.isascii() for char in _false(word))


def plain(name: str) -> str:
    """With the letters of ASCII that it seems to have, and without what nobody sees."""
    hidden = hidden_in(name)
    seen = "".join(PASS_FOR.get(c, c) for c in name if c not in hidden)
    return "".join(unicodedata.normalize("NFKC", c) if _passes(c) else c for c in seen)


def odd_in(text: str) -> str:
    """What of a text that is wrong may be why, although it looks right: also words that are wholly
    in a script whose letters all pass for ASCII."""
    false = (
        char
        for word in _words(text)
        if not word.isascii() and (_false(word) or all(map(_passes, word)))
        for char in word
        if _passes(char)
    )
    spaces = (c for c in text if unicodedata.category(c) == "Zs" and c not in (" ", _WIDE_SPACE))
    return hidden_in(text) + "".join((*spaces, *false))


def _words(text: str) -> Iterator[str]:
    return (found.group() for found in _WORD.finditer(unicodedata.normalize("NFC", text)))


def _false(word: str) -> str:
    has_ascii = any(char.isascii() for char in word)
    return "".join(char for char in word if _passes(char)) if has_ascii else ""


def _passes(char: str) -> bool:
    """Fullwidth letters and those of formulas are ASCII's in another dress."""
    if char.isascii():
        return False
    plain = unicodedata.normalize("NFKC", char)
    return char in PASS_FOR or (len(plain) == 1 and plain.isascii() and plain.isalpha())


def _joins(name: str, at: int) -> bool:
    beside = name[max(at - 1, 0) : at] + name[at + 1 : at + 2]
    return len(beside) == 2 and not any(char.isascii() for char in beside)
