"""Every case on one chip of each HTP generation; results are kept, so a run can be taken up again.

On one chip each case is compiled alone and run on the emulator. For the others cases come in packs,
see packs.py; a case of which the pack says something else than it says alone is compiled alone
everywhere.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from qnnbuild.model.chips import packaged_chips
from tools.atlas import specs, specs_fusions, specs_heavy
from tools.atlas.compiling import Compiled, Compiler, on_cpu
from tools.atlas.models import Array, Case, Spec, case_of
from tools.atlas.packs import packs, verdicts

CHIPS = ("SA8295P", "SM8450", "SM8550", "SM8650", "SM8750", "SM8850", "SM8975")
"""One of each generation, all with fp16: what a float model meets is then the operator's doing."""

ALONE = "SM8750"
TOOLS = ("onnxruntime", "onnxruntime-qnn")
SAME = 999.0


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One case on one chip."""

    case: str
    chip: str
    on: str
    refused: Mapping[str, str]
    groups: Sequence[tuple[str, Sequence[str], Sequence[str]]]
    error: str
    quality: float | None = None  # dB against the CPU; SAME where the numbers are the same

    @property
    def fused(self) -> tuple[str, ...]:
        return tuple(sorted({kind for kind, _, _ in self.groups} - {"OrtNodeUnit"}))


def all_specs() -> Iterator[Spec]:
    yield from specs.elementwise()
    yield from specs.casts()
    yield from specs.reductions()
    yield from specs.shapes()
    yield from specs.picking()
    yield from specs_heavy.convolutions()
    yield from specs_heavy.matrices()
    yield from specs_heavy.quantizers()
    yield from specs_heavy.norms()
    yield from specs_heavy.pictures()
    yield from specs_heavy.sequences()
    yield from specs_heavy.attention()
    yield from specs_heavy.rest()
    yield from specs_fusions.all_fusions()


def all_cases() -> Iterator[Case]:
    for spec in all_specs():
        for form in spec.forms:
            yield case_of(spec, form, on_cpu)


def soc_models() -> dict[str, int]:
    """Chip → QNN's number of it."""
    known = {chip.name: chip.soc_model for chip in packaged_chips()}
    return {name: known[name] for name in CHIPS}


def generations() -> dict[str, int]:
    known = {chip.name: chip.arch for chip in packaged_chips()}
    return {name: known[name] for name in CHIPS}


def versions() -> dict[str, str]:
    return {name: importlib.metadata.version(name) for name in TOOLS}


class Kept:
    """Results by what the model, the chip and the tools are."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.versions = json.dumps(versions())

    def get(self, case: Case, chip: str, how: str = "") -> Cell | None:
        file = self._file(case, chip, how)
        return Cell(**json.loads(file.read_text(encoding="utf-8"))) if file.exists() else None

    def put(self, case: Case, cell: Cell, how: str = "") -> Cell:
        file = self._file(case, cell.chip, how)
        beside = file.with_suffix(f".{os.getpid()}")
        beside.write_text(json.dumps(asdict(cell)), encoding="utf-8")
        beside.replace(file)
        return cell

    def _file(self, case: Case, chip: str, how: str) -> Path:
        told = f"{case.name} {chip} {self.versions}{how}".encode()
        model = case.model.SerializeToString(deterministic=True)
        return self.folder / f"{sha256(model + told).hexdigest()[:32]}.json"


class Measurer:
    def __init__(self, kept: Kept) -> None:
        self.kept = kept
        self.compiler = Compiler()
        self.soc_models = soc_models()

    def alone(self, case: Case, chip: str) -> Cell:
        found = self.kept.get(case, chip)
        if found is None:
            runs = chip == ALONE and case.spec.compared
            model = case.model.SerializeToString()
            made = self.compiler.compile(model, self.soc_models[chip], case.feeds if runs else None)
            found = self.kept.put(case, cell_of(case, chip, made))
        return found

    def packed(self, cases: Sequence[Case], chip: str) -> None:
        if all(self.kept.get(case, chip, "pack") for case in cases):
            return
        made = verdicts(self.compiler, cases, self.soc_models[chip])
        for case, one in zip(cases, made, strict=True):
            self.kept.put(case, cell_of(case, chip, one), "pack")


def cell_of(case: Case, chip: str, made: Compiled) -> Cell:
    return Cell(
        case=case.name,
        chip=chip,
        on=made.on,
        refused=made.refused,
        groups=[(group.kind, group.nodes, group.qnn) for group in made.groups],
        error=made.error,
        quality=_quality(case, made.answers),
    )


def _quality(case: Case, answers: Sequence[Array] | None) -> float | None:
    if answers is None:
        return None
    try:
        wanted = on_cpu(case.model, case.feeds)
    except Exception:  # noqa: BLE001 - no CPU form of these types: nothing to compare with
        return None
    return min(_sqnr(a, b) for a, b in zip(wanted, answers, strict=True))


def _sqnr(wanted: Array, got: Array) -> float:
    """Signal to noise in dB."""
    signal = wanted.astype(np.float64)
    noise = signal - got.astype(np.float64)
    power = float(np.sum(noise**2))
    if power == 0:
        return SAME
    return round(float(10 * np.log10(max(float(np.sum(signal**2)), 1e-30) / power)), 1)


def measure_all(folder: Path, processes: int) -> list[tuple[Case, dict[str, Cell]]]:
    """Case by case: chip → what came of it."""
    cases = list(all_cases())
    kept = Kept(folder)
    alone = [(case, ALONE) for case in cases]
    _share(kept, processes, alone, lambda measurer, work: measurer.alone(*work))
    lots = [(pack, chip) for chip in CHIPS for pack in packs(cases)]
    _share(kept, processes, lots, lambda measurer, work: measurer.packed(*work))
    unlike = [case for case in cases if not _alike(kept, case)]
    rest = [(case, chip) for case in unlike for chip in CHIPS]
    _share(kept, processes, rest, lambda measurer, work: measurer.alone(*work))
    names = {case.name for case in unlike}
    return [(case, dict(_row(kept, case, alone=case.name in names))) for case in cases]


def _alike(kept: Kept, case: Case) -> bool:
    """The pack says of it what it says alone."""
    alone, packed = kept.get(case, ALONE), kept.get(case, ALONE, "pack")
    assert alone
    assert packed
    return (alone.on, alone.fused) == (packed.on, packed.fused)


def _row(kept: Kept, case: Case, *, alone: bool) -> Iterator[tuple[str, Cell]]:
    for chip in CHIPS:
        found = kept.get(case, chip, "" if alone or chip == ALONE else "pack")
        assert found
        yield chip, found


def _share(
    kept: Kept, processes: int, work: Sequence[Any], do: Callable[[Measurer, Any], object]
) -> None:
    """Between forks, each with a warm library of its own."""
    children = []
    for number in range(processes):
        child = os.fork()
        if child == 0:
            measurer = Measurer(kept)
            for done, one in enumerate(work[number::processes]):
                do(measurer, one)
                if number == 0 and done % 50 == 0:
                    sys.stderr.write(f"{done * processes} of {len(work)}\n")
            os._exit(0)
        children.append(child)
    for child in children:
        _, status = os.waitpid(child, 0)
        if status:
            raise SystemExit("a process that measures has died")
