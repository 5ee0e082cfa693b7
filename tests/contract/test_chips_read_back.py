"""Every row of chips.yaml against what the real library makes for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from qnnbuild.formats.context_binary import ContextFacts, read_context_binary
from qnnbuild.model.chips import packaged_chips, says_of_itself
from qnnbuild.model.recipe import Chip

pytestmark = pytest.mark.slow(seconds=30)

CHIPS = packaged_chips()
REFUSED = {chip.soc_model: chip.name for chip in CHIPS.refused} | dict.fromkeys(
    CHIPS.unnamed, "UNKNOWN_SDM"
)
NO_DEFAULTS = {"AIC100", "CPN3050_SIM"}  # refused for another reason than the library's default


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ID-qdq.bin and ID-fp16.bin for each soc_model that compiles."""
    folder = tmp_path_factory.mktemp("chips")
    ids = sorted({chip.soc_model for chip in CHIPS})
    wanted = [f"{i}:{kind}" for i in ids for kind in ("qdq", "fp16")]
    wanted += [f"{i}:qdq" for i in sorted(REFUSED)]
    script = Path(__file__).with_name("compile_for_chips.py")
    subprocess.run([sys.executable, str(script), str(folder), *wanted], check=True, timeout=300)
    return folder


def read(folder: Path, soc_model: int, kind: str) -> ContextFacts:
    return read_context_binary(memoryview((folder / f"{soc_model}-{kind}.bin").read_bytes()))


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_a_binary_tells_what_the_row_says(chip: Chip, made: Path):
    facts = read(made, chip.soc_model, "qdq")
    wanted = says_of_itself(chip)

    assert {key: getattr(facts, key) for key in wanted} == wanted


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_the_settings_tell_the_arch_that_the_row_notes(chip: Chip, made: Path):
    facts = read(made, chip.soc_model, "qdq")

    assert facts.settings["arch"] == str(chip.reads_back_as.get("settings_arch", chip.arch))


@pytest.mark.parametrize("chip", CHIPS, ids=lambda chip: chip.name)
def test_fp16_compiles_where_the_row_says_so_and_nowhere_else(chip: Chip, made: Path):
    compiled = (made / f"{chip.soc_model}-fp16.bin").exists()
    said_no = (made / f"{chip.soc_model}-fp16.txt").exists()

    assert compiled != said_no
    assert compiled == chip.reads_back_as.get("fp16", chip.fp16)


@pytest.mark.parametrize("soc_model", sorted(REFUSED))
def test_for_a_refused_chip_the_library_makes_its_default(soc_model: int, made: Path):
    facts = read(made, soc_model, "qdq")
    default = facts.settings["arch"] == "68" and facts.vtcm_mb == 16

    assert (facts.soc_type or "").upper() == REFUSED[soc_model]
    assert default != (REFUSED[soc_model] in NO_DEFAULTS)
