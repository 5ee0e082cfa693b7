"""Arrays of strangers: headers that promise anything, read by numpy's own reader."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.run import WorkError
from qnnbuild.work.stored_arrays import opened_npy


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': ',<f8', 'fortran_order': False, 'shape': (2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (-2, 3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (9" + "9" * 30 + ",), }",
        "{'descr': [('x', '<f8'), ('x', '<f8')], 'fortran_order': False, 'shape': (2,), }",
        "{'descr': {}, 'fortran_order': 1, 'shape': 3}",
        "(" * 90,
    ],
)
def test_a_header_that_promises_anything_is_told(tmp_path: Path, header: str):
    text = f"{header}\n".encode()
    path = tmp_path / "a.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + bytes(48))
    with pytest.raises(WorkError) as caught, opened_npy(path, "a.npy") as found:
        found.take(found.shape)

    assert caught.value.message.startswith("'a.npy' ")
    assert caught.value.hint
