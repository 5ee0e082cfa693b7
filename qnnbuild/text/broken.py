"""What a YAML parser says when it gives up, in the user's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

import yaml

from qnnbuild.errors import Problem, Span

_QUOTE = "mend the indent, or quote texts that start with one of @ ` % * & ! | > [ { or hold ': '"
_ESCAPE = "in double quotes a backslash starts an escape: use / or single quotes"


@dataclass(frozen=True)
class _Said:
    pattern: str  # of the parser's context and problem
    means: str
    hint: str | None = None
    at_start: bool = False  # the place where it began says more than the one where it was noticed


_SAID = (
    _Said(
        r"quoted.*end of stream|quoted.*document separator", "the quote is not closed", None, True
    ),
    _Said(r"flow sequence.*expected ','", "the '[' is not closed", "a ',' or ']' is missing", True),
    _Said(r"flow mapping.*expected ','", "the '{' is not closed", "a ',' or '}' is missing", True),
    _Said(r"mapping values are not allowed", "a ':' where no key can stand", _QUOTE),
    _Said(r"could not find expected ':'", "a key without ':'", "write 'key: value'", True),
    _Said(r"scanning an? alias", "a text that starts with '*' must be quoted", None, True),
    _Said(r"scanning an? anchor", "a text that starts with '&' must be quoted", None, True),
    _Said(r"directive", "a text that starts with '%' must be quoted", None, True),
    _Said(r"a tag|tag handle", "a text that starts with '!' must be quoted", None, True),
    _Said(r"block scalar", "after '|' or '>' a new line is wanted", _QUOTE, True),
    _Said(r"expected '?<(block end|document start)>", "the indent does not fit the lines above"),
    _Said(r"expected the node content", "a value is missing here"),
    _Said(r"sequence entries are not allowed", "a '- ' where no list can start", _QUOTE),
    _Said(r"mapping keys are not allowed", "a '? ' where no key can stand", _QUOTE),
)


def broken(file: str, lines: list[str], error: Exception) -> Problem:
    """One problem for the error of a parser."""
    if not isinstance(error, yaml.MarkedYAMLError):
        message = "this is not YAML: a character that does not exist"
        return Problem(message=message, at=Span(file=file, line=1, column=1), hint=_ESCAPE)
    mark = error.problem_mark or error.context_mark
    said = " ".join(part for part in (error.context, error.problem) if part)
    tab = _tab(file, lines, mark)
    if tab:
        return tab
    if mark and re.search(r"unknown escape|escape sequence of", said):
        slash = lines[mark.line].rfind("\\", 0, mark.column + 1)
        at = _span(file, lines, mark.line, slash if slash >= 0 else mark.column)
        return Problem(message="this is no escape", at=at, hint=_ESCAPE)
    start = re.search(r"found character '(.)' that cannot start any token", said)
    if start:
        return Problem(
            message=f"a text that starts with '{start[1]}' must be quoted",
            at=_at(file, lines, mark),
        )
    for known in _SAID:
        if re.search(known.pattern, said, re.DOTALL):
            place = error.context_mark if known.at_start and error.context_mark else mark
            return Problem(message=known.means, at=_at(file, lines, place), hint=known.hint)
    return Problem(message=f"this is not YAML: {said}", at=_at(file, lines, mark))


def _tab(file: str, lines: list[str], mark: yaml.Mark | None) -> Problem | None:
    if mark is None or mark.line >= len(lines):
        return None
    line = lines[mark.line]
    indent = line[: len(line) - len(line.lstrip())]
    column = mark.column if line[mark.column : mark.column + 1] == "\t" else indent.find("\t")
    if column < 0:
        return None
    where = "in the indent" if column < len(indent) else "between words"
    return Problem(
        message=f"a tab {where}, where YAML wants spaces",
        at=_span(file, lines, mark.line, column),
        hint="indent with spaces" if column < len(indent) else "use a space",
    )


def _at(file: str, lines: list[str], mark: yaml.Mark | None) -> Span:
    if mark is None:
        return Span(file=file, line=1, column=1)
    row = min(mark.line, len(lines) - 1)
    column = mark.column
    if row > 0 and not lines[row].strip():  # the end of the file: show the last line with words
        row = max((n for n in range(row) if lines[n].strip()), default=row)
        column = len(lines[row].rstrip())
    return _span(file, lines, row, column)


def _span(file: str, lines: list[str], row: int, column: int) -> Span:
    return Span(file=file, line=row + 1, column=column + 1, end=column + 2, text=lines[row])
