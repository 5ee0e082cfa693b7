"""Problems → words: for a terminal, for GitHub's annotations, as JSON."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from typing import TextIO

from qnnbuild.digest import Json
from qnnbuild.errors import Problem, Span
from qnnbuild.text.letters import HOLDS, JOINERS, all_told, is_hidden, odd_in

TAB_WIDTH = 4
MAX_WIDTH = 120  # of a shown line, in columns of a terminal

_RED, _YELLOW, _CYAN, _BOLD, _OFF = "\x1b[31m", "\x1b[33m", "\x1b[36m", "\x1b[1m", "\x1b[0m"


def wants_colour(stream: TextIO, env: Mapping[str, str]) -> bool:
    """Colour is for a terminal whose user did not forbid it (no-color.org)."""
    return stream.isatty() and not env.get("NO_COLOR") and env.get("TERM") != "dumb"


def terminal(problems: Iterable[Problem], *, colour: bool = False) -> str:
    """All problems, one after the other, as a compiler would say them."""
    return "".join(_problem(problem, colour) for problem in problems)


def github(problems: Iterable[Problem]) -> str:
    """The same as annotations of a GitHub workflow, one line each."""
    return "".join(_annotation(problem) for problem in problems)


def as_json(problems: Iterable[Problem]) -> list[Json]:
    return [_as_json(problem) for problem in problems]


def facts_of(problem: Problem) -> tuple[tuple[str, str], ...]:
    """With the letters of the marked text that pass for others, which nobody can see."""
    at = problem.at
    odd = odd_in(at.text[at.column - 1 : max(at.end - 1, at.column)]) if at else ""
    if not odd or any(all_told(odd) == told for _, told in problem.facts):
        return problem.facts
    return (*problem.facts, (HOLDS, all_told(odd)))


def _problem(problem: Problem, colour: bool) -> str:
    tint = "" if not colour else _YELLOW if problem.severity == "warning" else _RED
    where = _painted(clean(f"{problem.at}:"), _BOLD if colour else "") + " " if problem.at else ""
    kind = _painted(f"{problem.severity}:", tint)
    label = _painted("hint:", _CYAN if colour else "")
    return (
        f"{where}{kind} {clean(problem.message)}\n"
        + (_excerpt(problem.at, tint) if problem.at else "")
        + _facts(facts_of(problem))
        + _hint(problem.hint, label)
    )


def _painted(text: str, code: str) -> str:
    return f"{code}{text}{_OFF}" if code else text


def _excerpt(at: Span, tint: str) -> str:
    if not at.text.strip():
        return ""
    line, first, last = _window(at)
    number = f"{at.line:>5}"
    carets = " " * first + _painted("^" * max(last - first, 1), tint)
    return f"{number} | {line}\n{' ' * len(number)} | {carets}\n"


def _window(at: Span) -> tuple[str, int, int]:
    """The line as shown, and the columns on the terminal where the place begins and ends."""
    cells = _cells(at.text)
    begin = min(at.column - 1, len(cells))
    end = min(max(at.end - 1, begin + 1), len(cells))
    left, right = 0, len(cells)
    if sum(width for _, width in cells) > MAX_WIDTH:
        left = max(0, begin - MAX_WIDTH // 3)
        right = left
        room = MAX_WIDTH
        while right < len(cells) and room >= cells[right][1]:
            room -= cells[right][1]
            right += 1
        end = min(end, right)
    head = "…" if left else ""
    tail = "…" if right < len(cells) else ""
    first = len(head) + sum(width for _, width in cells[left:begin])
    last = first + sum(width for _, width in cells[begin:end])
    return head + "".join(text for text, _ in cells[left:right]).rstrip() + tail, first, last


def _cells(line: str) -> list[tuple[str, int]]:
    """Each character as shown, and how many columns of a terminal it takes."""
    cells: list[tuple[str, int]] = []
    column = 0
    for char in line:
        if char == "\t":
            width = TAB_WIDTH - column % TAB_WIDTH
            cells.append((" " * width, width))
        else:
            shown = clean(char)
            width = _width(shown)
            cells.append((shown, width))
        column += width
    return cells


def _width(char: str) -> int:
    if unicodedata.category(char) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(char) in {"W", "F"} else 1


def clean(text: str) -> str:
    """The text without what moves a terminal's cursor, turns its text around, or is not seen."""
    if text.isprintable():
        return text
    return "".join(char if char == "\n" or not _moves(char) else "�" for char in text)


def _moves(char: str) -> bool:
    return unicodedata.category(char) in {"Cc", "Cs"} or (is_hidden(char) and char not in JOINERS)


def _facts(facts: Iterable[tuple[str, str]]) -> str:
    pairs = list(facts)
    width = max((len(name) for name, _ in pairs), default=0) + 1
    return "".join(_lines(f"  {name + ':':<{width}} ", value) for name, value in pairs)


def _hint(hint: str | None, label: str) -> str:
    return f"  {label} " + clean(hint).replace("\n", "\n        ") + "\n" if hint else ""


def _lines(label: str, value: str) -> str:
    return label + clean(value).replace("\n", "\n" + " " * len(label)) + "\n"


def _annotation(problem: Problem) -> str:
    kind = "warning" if problem.severity == "warning" else "error"
    at = problem.at
    place = ""
    if at:
        place = f" file={_escape_value(at.file)},line={at.line},col={at.column}"
        place += f",endColumn={at.end}" if at.end > at.column else ""
    body = clean(problem.message) + "\n" + _facts(facts_of(problem)) + _hint(problem.hint, "hint:")
    return f"::{kind}{place}::{_escape(body.rstrip())}\n"


def _escape(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_value(text: str) -> str:
    return _escape(text).replace(":", "%3A").replace(",", "%2C")


def _as_json(problem: Problem) -> dict[str, Json]:
    at = problem.at
    place: dict[str, Json] = (
        {"file": at.file, "line": at.line, "column": at.column, "end": at.end} if at else {}
    )
    return {
        **place,
        "severity": problem.severity,
        "message": problem.message,
        "facts": dict(facts_of(problem)),
        "hint": problem.hint,
    }
