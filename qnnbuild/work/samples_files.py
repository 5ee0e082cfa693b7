"""calibrate and samples: whatever the recipe names becomes one checked .npz file a sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from qnnbuild.errors import did_you_mean
from qnnbuild.work.given_samples import Given, Reader
from qnnbuild.work.pictures import recipe_of
from qnnbuild.work.random_numbers import random_numbers
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.sample_borders import Border, borders_of
from qnnbuild.work.sample_set import SampleSet, write_report

ALL_FEEDS = "*.npz"

MOST_BYTES = 1 << 38
"""Of all random samples of a graph."""


def collect(run: Run) -> None:
    """Inputs "model" (prepared), "files", "feeds" → outputs "feeds" and "report".

    Params: see steps/samples.py, which writes them.
    """
    borders, _ = borders_of(run.inputs["model"])
    params = run.params
    _check_named(params, borders)
    _check_random(params, borders)
    images = recipe_of(params["images"]) if params["images"] else None
    reader = Reader(borders=borders, raw=params["raw"], images=images)
    made = SampleSet(
        borders=borders,
        folder=run.outputs["feeds"],
        may_be_constant=params["may_be_constant"],
    )
    kinds: Counter[str] = Counter()
    for kind, given in islice(_all(run, reader), params["at_most"]):
        kinds[kind] += 1
        made.add(given)
    report = made.close(run, at_least=params["at_least"])
    if kinds["random"] and params["tell_random"]:
        run.warn(
            f"{kinds['random']} of {kinds.total()} samples are random numbers: "
            "ranges that they give are not those of real inputs",
            place="samples",
        )
    report |= {
        "from": dict(kinds),
        "synthetic": kinds["random"] > 0,
        "at_most": params["at_most"],
        "unused": sorted(reader.unused),
        "pre_processing": params["images"],
    }
    write_report(run.outputs["report"], report)


def _check_named(params: Mapping[str, Any], borders: tuple[Border, ...]) -> None:
    """Inputs that the recipe speaks of are there."""
    known = [border.name for border in borders]
    named = [(f"samples.inputs.{name}", name) for name in params["raw"]]
    named += [("samples.may_be_constant", name) for name in params["may_be_constant"]]
    if params["images"]:
        named.append(("samples.images.input", params["images"]["input"]))
    for place, name in named:
        if name not in known:
            raise WorkError(
                f"the graph has no input '{name}'",
                place=place,
                facts=[("its inputs", ", ".join(known) or "none")],
                hint=did_you_mean(name, known),
                exit_code=2,
            )
    if params["images"] and len(known) > 1:
        raise WorkError(
            f"images are one input, and the graph has {len(known)}",
            place="samples.images",
            facts=[("its inputs", ", ".join(known))],
            hint="a Python file can give all of them: python: {file: feeds.py}",
            exit_code=2,
        )


def _check_random(params: Mapping[str, Any], borders: tuple[Border, ...]) -> None:
    """What a recipe of one line may fill a disk with is told before the first of it is made."""
    one = sum(border.dtype.itemsize * math.prod(border.shape) for border in borders)
    count = min(params["random"] or 0, params["at_most"] or MOST_BYTES)
    if one * count > MOST_BYTES:
        raise WorkError(
            f"{count:,} random samples of {one:,} bytes are {one * count:,} bytes",
            place="samples.random",
            hint="some dozens give the ranges as well",
            exit_code=2,
        )


def _all(run: Run, reader: Reader) -> Iterator[tuple[str, Given]]:
    """Files first, then what the user's Python gave, then random ones."""
    if "files" in run.inputs:
        for given in reader.samples(run.inputs["files"], run.params["patterns"]):
            yield "images" if given.is_image else "files", given
    if "feeds" in run.inputs:
        for given in reader.samples(run.inputs["feeds"], [ALL_FEEDS]):
            yield "python", given
    for turn in range(run.params["random"] or 0):
        yield "random", Given(shown=f"random {turn}", arrays=_random(run, reader.borders, turn))


def _random(
    run: Run, borders: tuple[Border, ...], turn: int
) -> dict[str, np.ndarray[Any, np.dtype[Any]]]:
    ranges: Mapping[str, Any] = run.params["ranges"]
    return {
        border.name: random_numbers(
            border.name,
            turn,
            dtype=border.dtype,
            shape=border.shape,
            between=ranges.get(border.name),
        )
        for border in borders
    }
