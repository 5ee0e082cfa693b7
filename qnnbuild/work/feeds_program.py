"""Calls a user's function and writes what it yields. Runs by itself: nothing of ours is there.

    python feeds_program.py FILE FUNCTION AXES AT_MOST FOLDER

FILE is in the current folder. What goes wrong in a way that a user can mend is told in
FOLDER/said.json; anything else is a traceback and an exit code.
"""

from __future__ import annotations

import importlib.util
import inspect
import json
import random
import sys
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

SAID = "said.json"


class Wrong(Exception):
    """What the user can mend, and how."""

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


def main(file: str, function: str, axes: str, at_most: str, folder: str) -> int:
    out = Path(folder)
    try:
        import numpy as np

        random.seed(0)
        np.random.seed(0)  # noqa: NPY002 - it is what users' code draws from
        write(feeds(file, function, json.loads(axes)), out, int(at_most) or None)
    except Wrong as error:
        return said(out, str(error), error.hint)
    except ImportError as error:
        traceback.print_exc()
        hint = "list it with its version: python: {requirements: …}; a file of yours: needs: […]"
        return said(out, f"{line_of(error, file)}: {error}", hint)
    except Exception as error:  # noqa: BLE001 - the user's code may raise anything
        traceback.print_exc()
        return said(out, f"{line_of(error, file)}: {type(error).__name__}: {error}", None)
    return 0


def said(folder: Path, message: str, hint: str | None) -> int:
    (folder / SAID).write_text(json.dumps({"message": message, "hint": hint}), encoding="utf-8")
    return 1


def line_of(error: BaseException, file: str) -> str:
    """FILE:LINE where the user's own file was last; a mistake of syntax has its own line."""
    if isinstance(error, SyntaxError) and error.lineno:
        return f"{Path(error.filename or file).name}:{error.lineno}"
    name = Path(file).name
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if Path(frame.filename).name == name]
    return f"{name}:{lines[-1]}" if lines else name


def feeds(file: str, function: str, axes: Mapping[str, str]) -> Iterator[Any]:
    sys.path.insert(0, str(Path.cwd()))
    spec = importlib.util.spec_from_file_location(Path(file).stem, Path(file).resolve())
    if spec is None or spec.loader is None:
        raise Wrong(f"'{file}' is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(0)
    found = getattr(module, function, None)
    if not callable(found):
        known = [name for name, value in vars(module).items() if inspect.isfunction(value)]
        raise Wrong(
            f"'{file}' has no function '{function}'", f"its functions: {', '.join(known) or 'none'}"
        )
    made = found(**arguments(found, function, axes))
    if made is None or isinstance(made, Mapping | str):
        kind = "nothing" if made is None else f"one {type(made).__name__}"
        raise Wrong(f"{function}() gives {kind}, many samples are wanted", "yield {'x': array}")
    yield from made


def arguments(
    found: Callable[..., Any], function: str, axes: Mapping[str, str]
) -> Mapping[str, str]:
    """The recipe's axes that the function asks for by name."""
    wanted = inspect.signature(found).parameters.values()
    if any(p.kind is p.VAR_KEYWORD for p in wanted):
        return axes
    lacking = [
        p.name
        for p in wanted
        if p.name not in axes and p.default is p.empty and p.kind is not p.VAR_POSITIONAL
    ]
    if lacking:
        raise Wrong(
            f"{function}() wants '{lacking[0]}', which is no axis of this graph",
            f"axes: {', '.join(axes) or 'none'}",
        )
    return {p.name: axes[p.name] for p in wanted if p.name in axes}


def write(samples: Iterator[Any], folder: Path, at_most: int | None) -> None:
    """One .npz a sample, each gone from memory before the next one is made."""
    import numpy as np

    for number, sample in enumerate(islice(samples, at_most)):
        if not isinstance(sample, Mapping) or not sample:
            raise Wrong(
                f"sample {number} is {type(sample).__name__}, a dict is wanted",
                "yield {'x': array} with the names of the graph's inputs",
            )
        with zipfile.ZipFile(folder / f"{number:06}.npz", "w") as file:
            for name, value in sample.items():
                array = np.asarray(value)
                if array.dtype.kind not in "biuf":
                    raise Wrong(f"sample {number}: '{name}' is {array.dtype}, no numbers")
                with file.open(f"{name}.npy", "w", force_zip64=True) as stream:
                    np.lib.format.write_array(stream, array, allow_pickle=False)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
