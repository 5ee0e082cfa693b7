"""Models, samples and archives: what actions open."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fuzz.formats import onnx_seeds
from fuzz.target import DEEP


def _onnx_model(path: Path) -> None:
    """The looks that an ONNX file gets before anything of it is run."""
    from qnnbuild.work.names import check_borders, check_single_makers, name_nodes, sort_nodes
    from qnnbuild.work.onnx_files import read_whole, side_files
    from qnnbuild.work.shapes import check_fixed
    from qnnbuild.work.walk import all_names, dtype_of, shape_of

    model = read_whole(path.parent)
    side_files(model)
    check_single_makers(model)
    check_borders(model)
    sort_nodes(model)
    name_nodes(model)
    all_names(model)
    for value in (*model.graph.input, *model.graph.output):
        dtype_of(value), shape_of(value)
    check_fixed(model)


def _archive(path: Path) -> None:
    from qnnbuild.work.packages import open_archive

    package = open_archive(path, "a.zip")
    for name in package.names()[:3]:
        to = path.parent / "member"
        to.unlink(missing_ok=True)
        package.copy(name, to)


def _archive_seeds() -> Iterator[bytes]:
    import tarfile
    import zipfile

    kinds: tuple[Any, ...] = ("w", "w:gz", "w:bz2", "w:xz")
    for kind in kinds:
        made = io.BytesIO()
        with tarfile.open(fileobj=made, mode=kind) as tar:
            member = tarfile.TarInfo("m/model.onnx")
            member.size = 4
            tar.addfile(member, io.BytesIO(b"abcd"))
            link = tarfile.TarInfo("l")
            link.type, link.linkname = tarfile.SYMTYPE, "m/model.onnx"
            tar.addfile(link)
        yield made.getvalue()
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", method) as archive:
            archive.writestr("m/model.onnx", b"abcd" * 100)
        yield made.getvalue()


def _npz(path: Path) -> None:
    from qnnbuild.work.stored_arrays import npz_names, opened_npz

    names = npz_names(path, "a.npz")
    with opened_npz(path, "a.npz", names) as arrays:
        for one in arrays.values():
            one.take(one.shape)


def _npy(path: Path) -> None:
    from qnnbuild.work.stored_arrays import opened_npy

    with opened_npy(path, "a.npy") as one:
        one.take(one.shape)


def _npz_seeds() -> Iterator[bytes]:
    import numpy as np

    made = io.BytesIO()
    np.savez(made, x=np.arange(6, dtype=np.float32).reshape(2, 3), y=np.zeros(0, np.int8))
    yield made.getvalue()
    made = io.BytesIO()
    np.savez_compressed(made, x=np.asfortranarray(np.ones((2, 3))))
    yield made.getvalue()


def _npy_seeds() -> Iterator[bytes]:
    import numpy as np

    for array in (np.arange(6.0).reshape(2, 3), np.asfortranarray(np.ones((2, 3)))):
        made = io.BytesIO()
        np.save(made, array)
        yield made.getvalue()


def _encodings(path: Path) -> None:
    from qnnbuild.work.encodings import read_encodings

    read_encodings(path.parent)


def _encoding_seeds() -> Iterator[bytes]:
    yield (
        b'{"version": "0.6.1", "activation_encodings": {"x": [{"bitwidth": 8, "dtype": "int", '
        b'"is_symmetric": "False", "max": 1.0, "min": 0.0, "offset": -128, "scale": 0.1}]}, '
        b'"param_encodings": {}}'
    )
    yield (
        b'{"version": "1.0.0", "activation_encodings": [{"name": "x", "bw": 8, "dtype": "INT", '
        b'"enc_type": "PER_TENSOR", "is_sym": true, "offset": [-128], "scale": [0.1]}], '
        b'"param_encodings": []}'
    )
    yield from DEEP


FILES = {
    "onnx": (_onnx_model, "model.onnx", onnx_seeds),
    "archive": (_archive, "a.zip", _archive_seeds),
    "npz": (_npz, "a.npz", _npz_seeds),
    "npy": (_npy, "a.npy", _npy_seeds),
    "encodings": (_encodings, "e.encodings", _encoding_seeds),
}
