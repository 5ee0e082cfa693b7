"""Each test can fail: it asserts something itself, or in a helper that it calls."""

from __future__ import annotations

import ast
from pathlib import Path

TESTS = Path(__file__).parents[1]
ASSERTING_CALLS = {"raises", "warns", "fail", "golden"}


def test_every_test_asserts_something() -> None:
    modules = {path: ast.parse(path.read_text(encoding="utf-8")) for path in TESTS.rglob("*.py")}
    helpers = {
        function.name
        for module in modules.values()
        for function in functions(module)
        if not function.name.startswith("test_") and asserts(function, ASSERTING_CALLS)
    }
    idle = [
        f"{path.relative_to(TESTS)}:{function.lineno} {function.name}"
        for path, module in modules.items()
        for function in functions(module)
        if function.name.startswith("test_")
        if not asserts(function, ASSERTING_CALLS | helpers)
    ]

    assert idle == []


def test_a_test_without_an_assertion_is_found() -> None:
    (idle, busy) = functions(ast.parse("def idle():\n    run()\n\ndef busy():\n    assert run()\n"))

    assert not asserts(idle, ASSERTING_CALLS)
    assert asserts(busy, ASSERTING_CALLS)


def functions(module: ast.Module) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]


def asserts(function: ast.FunctionDef, calls: set[str]) -> bool:
    for node in ast.walk(function):
        if isinstance(node, ast.Assert):
            return True
        if isinstance(node, ast.Call):
            called = node.func
            name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
            if name in calls or name.startswith("assert_"):
                return True
    return False
