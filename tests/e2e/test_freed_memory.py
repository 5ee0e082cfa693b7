"""What a child keeps of its freed memory, seen by the kernel's count of its pages."""

import subprocess
import sys

import pytest

from qnnbuild.engine.freed_memory import ROOMY

HELD = """
import os, sys
from pathlib import Path
from qnnbuild.engine.freed_memory import keep_freed
keep_freed([Path(sys.argv[1])])
pages = lambda: int(open("/proc/self/statm").read().split()[1])
before = pages()
block = b"x" * (1 << 26)
del block
print((pages() - before) * os.sysconf("SC_PAGESIZE"))
"""


@pytest.mark.parametrize(("size", "kept"), [(1000, True), (ROOMY + 1, False)])
def test_freed_memory_is_kept_where_inputs_are_not_too_large(tmp_path, size, kept):
    (tmp_path / "in").mkdir()
    with (tmp_path / "in" / "model.onnx").open("wb") as file:
        file.truncate(size)  # a hole, on any file system
    done = subprocess.run(
        [sys.executable, "-c", HELD, str(tmp_path)], capture_output=True, text=True, check=True
    )

    assert (int(done.stdout) > 1 << 25) == kept
