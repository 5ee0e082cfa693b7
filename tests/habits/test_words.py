"""The glossary decides which words name things, and a name that breaks it fails here."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "qnnbuild"
BRIDGE = PACKAGE / "bridge"


def test_no_name_breaks_the_glossary() -> None:
    banned, excepted, bridge_only = glossary_lists()
    broken = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for name, line in names(path)
        if not any(name.strip("_").endswith(word) for word in excepted)
        if words(name) & (banned if BRIDGE in path.parents else banned | bridge_only)
    ]

    assert broken == []


def test_the_glossary_lists_words_in_all_three_ways() -> None:
    banned, excepted, bridge_only = glossary_lists()

    assert "job" in banned
    assert "soc_model" in excepted
    assert bridge_only == {"task", "tasks"}


def test_each_word_is_explained_once() -> None:
    rows = re.findall(r"^\| ([^|]+?) \|", glossary(), re.MULTILINE)

    assert sorted(rows) == sorted(set(rows))


def test_words_are_found_in_both_spellings() -> None:
    assert words("JobRunner") == {"job", "runner"}
    assert words("_soc_id") == {"soc", "id"}


def glossary() -> str:
    return (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")


def glossary_lists() -> tuple[set[str], set[str], set[str]]:
    def listed(start: str) -> set[str]:
        lines = [line for line in glossary().splitlines() if line.startswith(f"- {start}")]
        return {word for line in lines for word in re.findall(r"`(\w+)`", line)}

    return listed("banned:"), listed("except:"), listed("in `bridge/` only:")


def words(name: str) -> set[str]:
    return {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)}


def names(path: Path) -> Iterator[tuple[str, int]]:
    """Every name that the module defines, itself included, with its line."""
    yield path.stem, 1
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno
