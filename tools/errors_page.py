"""The tables of docs/errors.md, which the site has below its text: `python -m tools.errors_page`.

What is told with a place in a recipe is taken from the golden files, which tests hold against the
real thing; all else from the calls in the package that tell it. Nothing of the package is imported.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "qnnbuild"
GOLDEN = ROOT / "tests" / "golden"

FOLDERS = {
    "errors": "Recipes, settings and chips",
    "options": "Options, and what stands beside them",
    "archives": "Archives and libraries",
    "mistakes": "Models, samples and sources, in a build",
}
"""Folders of golden files, and what their problems are about."""

AREAS = {
    "Recipes and settings": ("model", "text", "repo.py"),
    "Plans": ("planner.py", "plans", "steps", "checks", "toolchains"),
    "What an action finds": ("work",),
    "Files that are read": ("formats",),
    "The store, processes and the network": ("engine", "remote"),
    "Clusters": ("cluster",),
    "Import": ("importing",),
    "Commands": ("commands", "bridge", "cli.py", "session.py", "report", "actions"),
}
ROOTS = {"QnnbuildError", "WorkError", "FormatError"}
BESIDE = {"Problem", "Stop", "Trouble", "Wrong"}
"""What is made to be told: errors of these roots, and what becomes one or is told as one."""

HEADER = re.compile(r"^(?:\S+:\d+:\d+: )?(error|warning): (.*)$")
LINE = re.compile(r"^ +\d+ \| (.*)$")
HINT = re.compile(r"^ +hint: (.*)$")


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A problem as a golden file has it."""

    message: str
    line: str = ""
    hint: str = ""


@dataclass(frozen=True, kw_only=True)
class Told:
    """A message of the package, with … for what only a run knows."""

    message: str
    hint: str = ""


def tables() -> str:
    """Markdown: what has an example first, then all that has none."""
    shown = {folder: problems(folder) for folder in FOLDERS}
    seen = "\n".join(problem.message for found in shown.values() for problem in found)
    parts = ["## With an example\n"]
    for folder, title in FOLDERS.items():
        rows = [(p.message, p.hint, p.line.strip()) for p in shown[folder]]
        parts += table(title, ("told", "the way out", "the line"), rows)
    parts += ["## All others\n"]
    for title, found in messages().items():
        others = [(t.message, t.hint) for t in found if not pattern(t.message).search(seen)]
        parts += table(title, ("told", "the way out"), others)
    return "\n".join(parts)


def problems(folder: str) -> list[Shown]:
    """All that the golden files of a folder tell, each once."""
    found: dict[Shown, None] = {}
    for path in sorted((GOLDEN / folder).glob("*.txt")):
        found |= dict.fromkeys(read(path.read_text(encoding="utf-8")))
    return list(found)


def read(text: str) -> Iterator[Shown]:
    message, line, hint = "", "", ""
    for told in [*text.splitlines(), "error: "]:
        if header := HEADER.match(told):
            if message:
                yield Shown(message=message, line=line, hint=hint)
            message, line, hint = header[2], "", ""
        elif code := LINE.match(told):
            line = line or code[1]
        elif way := HINT.match(told):
            hint = way[1]


def messages() -> dict[str, list[Told]]:
    """What the package's code tells, by area, in the order of the alphabet."""
    found: dict[str, set[Told]] = defaultdict(set)
    tell = kinds() | BESIDE
    for path in sorted(PACKAGE.rglob("*.py")):
        area = path.relative_to(PACKAGE).parts[0]
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and name(call) in tell and (one := told(call)):
                found[area].add(one)
    return {
        title: sorted({one for area in areas for one in found[area]}, key=lambda one: one.message)
        for title, areas in AREAS.items()
    }


def kinds() -> set[str]:
    """The classes of errors of the package, whatever stands between them and the roots."""
    bases: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = {base.id for base in node.bases if isinstance(base, ast.Name)}
    known = set(ROOTS)
    while more := {one for one, above in bases.items() if above & known} - known:
        known |= more
    return known


def name(call: ast.Call) -> str:
    match call.func:
        case ast.Name(id=word) | ast.Attribute(attr=word):
            return word
    return ""


def told(call: ast.Call) -> Told | None:
    """What a call says, where its words stand in it; else it passes on what is told elsewhere."""
    given = {word.arg: word.value for word in call.keywords}
    message = given.get("message") or next(iter(call.args), None)
    text = words(message).strip()
    if not re.search(r"\w", text.replace("…", "")):
        return None
    hint = words(given.get("hint")).strip()
    return Told(message=text, hint="" if hint == "…" else hint)


def words(node: ast.expr | None) -> str:
    """The text of an expression, with … for each part that is worked out."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(words, parts))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return words(left) + words(right)
        case ast.IfExp(body=body, orelse=other):
            return words(body) if words(body) != "…" else words(other)
        case ast.Call(keywords=given) if name(node) == "did_you_mean":
            otherwise = next((word.value for word in given if word.arg == "otherwise"), None)
            return f"did you mean …? {words(otherwise)}".strip()
        case None | ast.Constant():
            return ""
    return "…"


def pattern(message: str) -> re.Pattern[str]:
    parts = (re.escape(part) for part in message.split("…"))
    return re.compile(rf"^{'.*'.join(parts)}$", re.MULTILINE)


def table(title: str, heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    if not rows:
        return
    yield f"### {title}\n"
    yield f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}"
    yield "\n".join(f"| {' | '.join(map(cell, row))} |" for row in rows) + "\n"


def cell(text: str) -> str:
    """Words of code, whatever stands in them."""
    if not text:
        return ""
    ticks = "``" if "`" in text else "`"
    pad = " " if "`" in text else ""
    told = " ".join(text.split()).replace("|", "\\|")
    return f"{ticks}{pad}{told}{pad}{ticks}"


if __name__ == "__main__":
    print(tables())
