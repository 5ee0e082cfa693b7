"""Files of a few bytes that promise terabytes: each is refused in our words, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.e2e.small_repo import REPO

CPU = "ONNX Runtime cannot run the prepared model on the CPU"
SAID = {
    "ConstantOfShape of terabytes": CPU,
    "Expand to terabytes": CPU,
    "Range of terabytes": CPU,
    "an input of 2^62": "input 'x' has 4,611,686,018,427,387,904 elements",
    "an input of terabytes": "input 'x' has 1,099,511,627,776 elements",
    "an input of -1": "input 'x' has -1 elements",
    "a weight of 2^62": "onnxsim cannot simplify the model",
    "a weight of -1": "onnxsim cannot simplify the model",
    "a function that calls itself": "the model's function 'F0' calls itself",
    "functions that unfold to 2^40 nodes": (
        "the model's functions unfold to 549,755,813,888 nodes"
    ),
    "a tar's name of terabytes": "a name or list of attributes of 1,099,511,627,776 bytes",
    "an array of zeros to be turned": (
        "'a.npz': 'x' is 34,359,738,368 bytes in Fortran's order, which are read as a whole"
    ),
    "encodings of 10^12 bits": ("encodings: 'x' has 1000000000000 bits"),
}


@pytest.mark.slow
def test_a_bomb_is_told_and_takes_no_memory(tmp_path):
    argv = [sys.executable, "-m", "tests.e2e.bombs", str(tmp_path)]
    done = subprocess.run(argv, cwd=REPO, capture_output=True, text=True, check=False, timeout=300)

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert json.loads((tmp_path / "said.json").read_text()) == SAID
