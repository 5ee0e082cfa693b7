"""A process with little memory that is given bombs: prints what is said of each, as JSON.

`python -m tests.e2e.bombs FOLDER`: {name: "the error, in our words"}; nothing else may come of one.
"""

from __future__ import annotations

import io
import json
import resource
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper

from qnnbuild.formats.bounded_tar import Bomb, open_tar
from qnnbuild.formats.format_error import FormatError
from qnnbuild.work.encodings import read_encodings
from qnnbuild.work.prepare import prepare
from qnnbuild.work.run import WorkError
from qnnbuild.work.stored_arrays import opened_npz
from tests.working import PREPARE, run_work

MEMORY = 3 << 30
"""Bytes of addresses; what the libraries map for themselves is a third of it."""

OPSETS = (helper.make_opsetid("", 17), helper.make_opsetid("d", 1))


def model(*nodes: NodeProto, x: tuple[int, ...] = (1, 4), **stored: object) -> ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, x)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(np.array(value), name) for name, value in stored.items()],
    )
    return helper.make_model(graph, opset_imports=OPSETS, ir_version=9)


def node(operator: str, takes: str, makes: str, domain: str = "") -> NodeProto:
    return helper.make_node(operator, takes.split(), [makes], domain=domain)


def folded(operator: str, takes: str, **stored: Any) -> ModelProto:
    """Terabytes out of constants, of which one number is kept."""
    total = helper.make_node("ReduceSum", ["big"], ["r"], keepdims=0)
    return model(node(operator, takes, "big"), total, node("Add", "x r", "y"), **stored)


def functions(calls: int, last: str, depth: int) -> ModelProto:
    """Functions that each call the one below so many times."""
    made = model(node(f"F{depth}", "x", "y", "d"))
    for level in range(depth + 1):
        inner = f"F{level - 1}" if level else last
        steps = [node(inner, f"v{i}", f"v{i + 1}", "d") for i in range(calls)]
        if not level and last == "Relu":
            steps = [node("Relu", "v0", f"v{calls}")]
        made.functions.append(
            helper.make_function("d", f"F{level}", ["v0"], [f"v{calls}"], steps, OPSETS)
        )
    return made


def huge_weight(*sizes: int) -> ModelProto:
    made = model(node("Add", "x w", "y"))
    made.graph.initializer.append(
        TensorProto(name="w", data_type=TensorProto.FLOAT, dims=sizes, raw_data=bytes(16))
    )
    return made


MODELS = {
    "ConstantOfShape of terabytes": folded("ConstantOfShape", "s", s=[1 << 20, 1 << 20]),
    "Expand to terabytes": folded("Expand", "c s", s=[1 << 20, 1 << 20], c=np.float32(1)),
    "Range of terabytes": folded("Range", "a b c", a=np.float32(0), b=np.float32(1e15),
                                 c=np.float32(1)),
    "an input of 2^62": model(node("Relu", "x", "y"), x=(1 << 62,)),
    "an input of terabytes": model(node("Relu", "x", "y"), x=(1 << 20, 1 << 20)),
    "an input of -1": model(node("Relu", "x", "y"), x=(-1,)),
    "a weight of 2^62": huge_weight(1 << 62, 4),
    "a weight of -1": huge_weight(-1, 4),
    "a function that calls itself": functions(1, "F0", 0),
    "functions that unfold to 2^40 nodes": functions(2, "Relu", 39),
}  # fmt: skip


def prepared(name: str, folder: Path) -> None:
    (folder / "given").mkdir()
    (folder / "given" / "model.onnx").write_bytes(MODELS[name].SerializeToString())
    run_work(
        prepare,
        folder,
        params=PREPARE,
        inputs={"model": folder / "given"},
        outputs=("model", "baseline", "names", "report"),
    )


def name_of_terabytes(folder: Path) -> None:
    member = tarfile.TarInfo("m")
    member.type, member.size = tarfile.GNUTYPE_LONGNAME, 1 << 40
    (folder / "a.tar").write_bytes(member.tobuf(tarfile.GNU_FORMAT) + bytes(1 << 20))
    with open_tar(folder / "a.tar") as archive:
        archive.next()


def turned_zeros(folder: Path) -> None:
    head = io.BytesIO()
    shape = (1 << 20, 1 << 13)
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f4", "fortran_order": True, "shape": shape}
    )
    with (
        zipfile.ZipFile(folder / "a.npz", "w", zipfile.ZIP_DEFLATED) as file,
        file.open("x.npy", "w", force_zip64=True) as member,
    ):
        member.write(head.getvalue())
        for _ in range(64):
            member.write(bytes(1 << 20))
    with opened_npz(folder / "a.npz", "a.npz", ["x"]):
        pass


def endless_bits(folder: Path) -> None:
    one = {"bitwidth": 10**12, "min": 0.0, "max": 1.0, "offset": 0}
    told = {"version": "0.6.1", "activation_encodings": {"x": [one]}, "param_encodings": {}}
    (folder / "a.encodings").write_text(json.dumps(told))
    read_encodings(folder)


FILES: dict[str, Callable[[Path], None]] = {
    "a tar's name of terabytes": name_of_terabytes,
    "an array of zeros to be turned": turned_zeros,
    "encodings of 10^12 bits": endless_bits,
}


def said(name: str, folder: Path) -> str:
    folder.mkdir()
    try:
        if name in MODELS:
            prepared(name, folder)
        else:
            FILES[name](folder)
    except WorkError as error:
        return error.message
    except (Bomb, FormatError) as error:
        return str(error)
    return "nothing"


def main() -> None:
    top = Path(sys.argv[1])
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    told = {name: said(name, top / str(i)) for i, name in enumerate([*MODELS, *FILES])}
    (top / "said.json").write_text(json.dumps(told))


if __name__ == "__main__":
    main()
