"""Files and functions stay small: the long tail is what hurts."""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
STARTER = ROOT / "qnnbuild" / "starter"  # files that `qnnbuild init` copies
MOST_LINES_OF_A_FILE = 400
MOST_LINES_OF_A_FUNCTION = 40


def test_no_file_is_longer_than_400_lines() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for folder in ("qnnbuild", "tests")
        for path in (ROOT / folder).rglob("*.py")
    }

    assert {path: n for path, n in lines.items() if n > MOST_LINES_OF_A_FILE} == {}


def test_no_function_is_longer_than_40_lines() -> None:
    long = {
        f"{path.relative_to(ROOT)}:{function.lineno} {function.name}": lines
        for path in (ROOT / "qnnbuild").rglob("*.py")
        for function in functions(path.read_text(encoding="utf-8"))
        if (lines := lines_of_code(function)) > MOST_LINES_OF_A_FUNCTION
    }

    assert long == {}


def test_every_package_has_an_empty_init() -> None:
    folders = {path.parent for path in (ROOT / "qnnbuild").rglob("*.py")} - {STARTER}
    inits = [folder / "__init__.py" for folder in sorted(folders)]

    assert [str(i.relative_to(ROOT)) for i in inits if not i.exists() or i.stat().st_size] == []


def test_a_docstring_does_not_count_as_code() -> None:
    text = 'def short():\n    """One.\n\n    Two.\n    """\n    return 1\n'

    assert [lines_of_code(function) for function in functions(text)] == [2]


def functions(text: str) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, kinds)]


def lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    lines = (function.end_lineno or function.lineno) - function.lineno + 1
    first = function.body[0]
    if ast.get_docstring(function) is not None:
        lines -= (first.end_lineno or first.lineno) - first.lineno + 1
    return lines
