"""metric: a measure of the user's own, by a function of theirs."""

from __future__ import annotations

import importlib.util
import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from qnnbuild.errors import did_you_mean
from qnnbuild.work.arrays import array_files
from qnnbuild.work.npz import Array, read_npz
from qnnbuild.work.run import Run, WorkError

Lists = dict[str, list[Array]]


def metric(run: Run) -> None:
    """Inputs "code", "outputs", "reference", "samples" → output "values".

    The user's function gets three dicts of name → arrays, one for each sample, in order:
    outputs of the NPU, references of the CPU, inputs. It gives a number or {name: number}.
    """
    place = f"verify.metrics.{run.params['name']}"
    function = _function(run, place)
    lists = [_lists(run.inputs[name]) for name in ("outputs", "reference", "samples")]
    try:
        found = function(*lists)
    except Exception as error:  # it is the user's: any kind
        raise WorkError(
            f"the metric '{run.params['name']}' failed",
            place=place,
            facts=[(type(error).__name__, str(error)), ("in", _line_of(error, run.params["file"]))],
        ) from error
    values = _checked(found, run.params["name"], place)
    text = json.dumps(values, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["values"] / "values.json").write_text(text + "\n", encoding="utf-8")


def _function(run: Run, place: str) -> Callable[..., Any]:
    path = run.inputs["code"] / run.params["file"]
    # what it imports lies beside it
    sys.path.insert(0, str(path.parent.resolve()))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise WorkError(
            f"{run.params['file']} cannot be loaded",
            place=place,
            facts=[(type(error).__name__, str(error))],
            hint="other files that it needs: needs: [files]",
        ) from error
    function = getattr(module, run.params["function"], None)
    if not callable(function):
        known = [name for name, value in vars(module).items() if callable(value)]
        raise WorkError(
            f"{run.params['file']} has no function '{run.params['function']}'",
            place=place,
            hint=did_you_mean(run.params["function"], known, otherwise="function: NAME"),
            exit_code=2,
        )
    found: Callable[..., Any] = function
    return found


def _lists(folder: Path) -> Lists:
    lists: Lists = {}
    for file in array_files(folder):
        for name, array in read_npz(file).items():
            lists.setdefault(name, []).append(array)
    return lists


def _line_of(error: Exception, file: str) -> str:
    """The last line of the user's own file that led there."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename.endswith(file):
            line = trace.tb_lineno
        trace = trace.tb_next
    return f"{file}:{line}"


def _checked(found: Any, name: str, place: str) -> dict[str, float]:
    values = dict(found) if isinstance(found, Mapping) else {name: found}
    if not values:
        raise WorkError(f"the metric '{name}' gives no value", place=place, exit_code=5)
    checked: dict[str, float] = {}
    for key, value in values.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise WorkError(
                f"the metric '{name}' gives {type(value).__name__} where a number is wanted",
                place=place,
                hint="return a float, or {name: float}",
            ) from None
        if not math.isfinite(number):
            raise WorkError(
                f"the metric '{name}' gives {number}",
                place=place,
                facts=[("value", str(key))],
                exit_code=5,
            )
        checked[str(key)] = number
    return checked
