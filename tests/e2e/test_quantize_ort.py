"""Quantized models on the real compiler and emulator, for chips of several HTP generations."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from onnx import ModelProto

from qnnbuild.engine.workers import Workers
from qnnbuild.model.recipe import Quantization
from tests.e2e.compiling import WARM, compiled
from tests.models import tiny_conv, two_branch, with_blocks
from tests.quantizing import quantized

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(warm=WARM, path=sys.path)
    yield shared
    shared.close()


EVERYWHERE = {
    "w8a8": Quantization(per_channel=True),
    "w8a16": Quantization(activations=16, per_channel=True),
    "w4a16": Quantization(weights=4, activations=16, per_channel=True),
    "w4a8": Quantization(weights=4, per_channel=True),
    "mixed": Quantization(sixteen_bit_operators=("MatMul",)),
    "symmetric": Quantization(symmetric_activations=True),
    "unsigned weights": Quantization(symmetric_weights=False),
}
NEWER = {
    "w16a16": Quantization(weights=16, activations=16),
    "w8": Quantization(activations=None, per_channel=False),
    "float sigmoid": Quantization(float_operators=("Sigmoid",)),
}


@pytest.mark.parametrize("chip", ["SM7325", "SM8550", "SM8750", "SM8850"])
@pytest.mark.parametrize("name", list(EVERYWHERE))
@pytest.mark.parametrize("model", [tiny_conv, two_branch])
def test_it_compiles_for_every_generation(
    workers: Workers, tmp_path: Path, model: Callable[[], ModelProto], name: str, chip: str
):
    made = quantized(tmp_path / "quantized", model(), EVERYWHERE[name])
    binary = compiled(workers, tmp_path / "run", made.model, chip, precision="w8a8")

    assert binary.warnings == []
    assert binary.facts["chip"]["soc_type"] == chip


@pytest.mark.parametrize("chip", ["SM8550", "SM8750", "SM8850"])
@pytest.mark.parametrize("name", list(NEWER))
def test_it_compiles_from_v73_on(workers: Workers, tmp_path: Path, name: str, chip: str):
    made = quantized(tmp_path / "quantized", two_branch(), NEWER[name])
    binary = compiled(workers, tmp_path / "run", made.model, chip, precision="w8a8")

    assert binary.warnings == []


@pytest.mark.parametrize("chip", ["SM8550", "SM8750"])
def test_weights_in_blocks_compile(workers: Workers, tmp_path: Path, chip: str):
    wanted = Quantization(weights=4, activations=16)
    made = quantized(tmp_path / "quantized", with_blocks(), wanted)
    binary = compiled(workers, tmp_path / "run", made.model, chip, precision="w4a16")

    assert binary.warnings == []


def test_weights_of_16_bits_do_not_compile_for_older_chips(workers: Workers, tmp_path: Path):
    made = quantized(tmp_path / "quantized", tiny_conv(), NEWER["w16a16"])
    binary = compiled(workers, tmp_path / "run", made.model, "SM8450", precision="w16a16")

    assert binary.said["error"]["message"].startswith("'vad' does not compile for SM8450")


def test_the_same_bytes_come_out_in_another_process_with_another_order_of_sets(tmp_path: Path):
    script = (
        "import sys; from pathlib import Path; from tests.models import two_branch;"
        "from tests.quantizing import quantized; from qnnbuild.model.recipe import Quantization;"
        "q = Quantization(sixteen_bit_operators=('MatMul',), float_nodes=('mul',));"
        "made = quantized(Path(sys.argv[1]), two_branch(), q);"
        "Path(sys.argv[1], 'answer').write_bytes(made.bytes + str(made.said).encode())"
    )
    for seed in ("1", "2"):
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed}, check=True, cwd=ROOT,
        )  # fmt: skip

    first, second = ((tmp_path / seed / "answer").read_bytes() for seed in ("1", "2"))

    assert first == second
