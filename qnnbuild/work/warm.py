"""What the warm server imports before it forks the child that does an action's work."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

OURS = "qnnbuild.work."
"""Only these: a module of a repo may do anything when it is imported, and belongs in one child."""

LATER = {"qnnbuild.work.emulator": "onnxruntime"}
"""Module → what its functions import, as soon as they are called."""

FORMULAS = "sympy"


def load(module: str) -> None:
    """Import `module`, which an action is about to call, once for all that call it.

    Not all of them at the start: together they take nearly two seconds, and most builds need a
    few. Compiles come from the press, so what was imported before does not change them.
    """
    if not module.startswith(OURS) or module in sys.modules:
        return
    with _without_formulas():
        import_module(module)
        for ours, theirs in LATER.items():
            if ours in sys.modules:
                import_module(theirs)


@contextmanager
def _without_formulas() -> Iterator[None]:
    """onnxsim would take sympy along, to print sizes as formulas, which no action asks for.

    That is nearly half of the whole time. An action that imports it itself, in its own child, gets
    it.
    """
    if FORMULAS in sys.modules:
        yield
        return
    sys.modules[FORMULAS] = None  # type: ignore[assignment] # import's own word for "not here"
    try:
        yield
    finally:
        del sys.modules[FORMULAS]
