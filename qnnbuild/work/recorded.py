"""references: recorded outputs of the original framework, one file for each sample."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from qnnbuild.errors import did_you_mean
from qnnbuild.formats.tensor import TensorFacts
from qnnbuild.work.arrays import sample_name
from qnnbuild.work.npz import write_npz
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.sample_borders import borders_of
from qnnbuild.work.sample_set import write_report
from qnnbuild.work.sample_units import listed
from qnnbuild.work.shapes import written
from qnnbuild.work.stored_arrays import Stored, npz_names, opened_npz

PLACE = "reference"
SHOWN = 8


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """One file: the outputs that it has, and how many samples along a leading axis."""

    file: str
    outputs: tuple[str, ...]
    count: int | None

    @property
    def keys(self) -> list[str]:
        """What its samples are called: as those of a file of inputs with the same name."""
        stem = PurePosixPath(self.file).stem
        return [stem] if self.count is None else [f"{stem}[{i}]" for i in range(self.count)]


def recorded(run: Run) -> None:
    """Inputs "model" (prepared), "files", "samples" (a report) → outputs "recorded", "report".

    A recorded file belongs to the sample whose file has the same name; when no names are the
    same, the first belongs to the first. 000000.npz holds the outputs for sample 000000.npz.
    """
    _, outputs = borders_of(run.inputs["model"])
    report = json.loads((run.inputs["samples"] / "report.json").read_text(encoding="utf-8"))
    _check_not_random(report)
    folder = run.inputs["files"]
    wanted = {output.name: output for output in outputs}
    files = [_look(folder, name, wanted) for name in listed(folder, run.params["patterns"])]
    _check_same_outputs(files)
    keys = [key for file in files for key in file.keys]
    order, by = _order(keys, report)
    numbers = iter(order)
    unusual: set[str] = set()
    for file in files:
        for arrays in _arrays(folder, file, wanted):
            number = next(numbers)
            if number is not None:
                write_npz(run.outputs["recorded"] / sample_name(number), arrays)
                unusual |= {n for n, a in arrays.items() if not np.all(np.isfinite(a))}
    for name in sorted(unusual):
        run.warn(f"recorded values of '{name}' are not all finite", place=PLACE)
    told = {"count": report["count"], "outputs": list(files[0].outputs), "aligned_by": by}
    write_report(run.outputs["report"], told)


def _check_not_random(report: Mapping[str, Any]) -> None:
    if report["synthetic"]:
        raise WorkError(
            "outputs were recorded, and the inputs are random numbers",
            place=PLACE,
            hint="give the inputs that they were recorded with: verify: {inputs: …}",
            exit_code=2,
        )


def _look(folder: Path, file: str, wanted: Mapping[str, TensorFacts]) -> Recorded:
    if not file.lower().endswith(".npz"):
        raise WorkError(
            f"'{file}' is no .npz file, in which recorded outputs are kept by name",
            place=PLACE,
            hint="np.savez(file, logits=…)",
            exit_code=2,
        )
    names = npz_names(folder / file, file)
    found = [name for name in wanted if name in names]
    spare = [name for name in names if name not in wanted]
    missed = next((n for n in wanted if n not in names and did_you_mean(n, spare)), None)
    if not found or missed:
        name = missed or next(iter(wanted))
        raise WorkError(
            f"'{file}' has no array for the output '{name}'",
            place=PLACE,
            facts=[("its arrays", ", ".join(names) or "none"), ("outputs", ", ".join(wanted))],
            hint=did_you_mean(name, spare),
            exit_code=2,
        )
    with opened_npz(folder / file, file, found) as stored:
        counts = {name: _count(stored[name], wanted[name]) for name in found}
    if len(set(counts.values())) > 1:
        raise WorkError(
            f"'{file}': its arrays do not hold the same number of samples",
            place=PLACE,
            facts=[(name, str(1 if n is None else n)) for name, n in counts.items()],
            exit_code=2,
        )
    return Recorded(file=file, outputs=tuple(found), count=counts[found[0]])


def _count(stored: Stored, output: TensorFacts) -> int | None:
    """Samples along a leading axis; None for one sample as it is."""
    shape, wanted = stored.shape, output.shape
    if _fits(shape, wanted):
        return None
    batch = len(shape) == len(wanted) > 0 and wanted[0] == 1
    if shape and (_fits(shape[1:], wanted) or (batch and _fits(shape[1:], wanted[1:]))):
        return shape[0]
    raise WorkError(
        f"{stored.shown}: '{output.name}' has the shape {written(shape)}",
        place=PLACE,
        facts=[("the graph's output", f"{output.dtype} {written(wanted)}")],
        exit_code=2,
    )


def _fits(shape: Sequence[int], wanted: Sequence[int | str]) -> bool:
    """A size that the file does not know fits any."""
    return len(shape) == len(wanted) and all(
        isinstance(want, str) or size == want for size, want in zip(shape, wanted, strict=True)
    )


def _check_same_outputs(files: Sequence[Recorded]) -> None:
    other = next((file for file in files if file.outputs != files[0].outputs), None)
    if other is not None:
        raise WorkError(
            f"'{other.file}' has other outputs than '{files[0].file}'",
            place=PLACE,
            facts=[(file.file, ", ".join(file.outputs)) for file in (files[0], other)],
            exit_code=2,
        )


def _order(keys: Sequence[str], report: Mapping[str, Any]) -> tuple[list[int | None], str]:
    """The number of the sample that each record belongs to; None: its sample was not taken."""
    samples = [_key(shown) for shown in report["samples"]]
    unique = len(set(samples)) == len(samples) and len(set(keys)) == len(keys)
    if unique and set(samples) & set(keys):
        lacking = [s for s in samples if s not in keys]
        spare = [key for key in keys if key not in samples]
        if lacking or (spare and report["at_most"] != len(samples)):
            raise _mismatch(len(samples), len(keys), lacking, spare)
        numbers = {key: number for number, key in enumerate(samples)}
        return [numbers.get(key) for key in keys], "name"
    if len(samples) != len(keys):
        raise _mismatch(len(samples), len(keys), [], [])
    return list(range(len(keys))), "order"


def _key(shown: str) -> str:
    """'calib/a.npz[3]' → 'a[3]'."""
    file, bracket, index = shown.partition("[")
    return PurePosixPath(file).stem + bracket + index


def _mismatch(
    samples: int, records: int, lacking: Sequence[str], spare: Sequence[str]
) -> WorkError:
    facts = [("samples", str(samples)), ("recorded", str(records))]
    if lacking:
        facts.append(("not recorded", ", ".join(lacking[:SHOWN])))
    if spare:
        facts.append(("of no sample", ", ".join(spare[:SHOWN])))
    return WorkError(
        "the recorded outputs are not those of the samples",
        place=PLACE,
        facts=facts,
        hint="record one .npz for each file of inputs, under the same name",
        exit_code=2,
    )


def _arrays(
    folder: Path, file: Recorded, wanted: Mapping[str, TensorFacts]
) -> Iterator[dict[str, Any]]:
    with opened_npz(folder / file.file, file.file, file.outputs) as stored:
        for _ in file.keys:
            one = {}
            for name, array in stored.items():
                shape = array.shape
                if file.count is not None:
                    more = len(shape) > len(wanted[name].shape)
                    shape = shape[1:] if more else (1, *shape[1:])
                one[name] = array.take(shape)
            yield one
