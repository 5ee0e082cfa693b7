"""convert for Qualcomm's SDK: qnn-onnx-converter makes C++, weights and a description."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import read_model
from qnnbuild.work.qairt_samples import (
    Input,
    Order,
    described,
    found_order,
    guess,
    write_samples,
)
from qnnbuild.work.qairt_sdk import HOST, Ended, Sdk, run_tool, sdk_here
from qnnbuild.work.run import Run, WorkError

TOOL = ("{python}", f"{{sdk}}/bin/{HOST}/qnn-onnx-converter")
COMPLETE = "Conversion complete!"
INPUT_LIST = Path("input_list.txt")
ENCODINGS = "{encodings}"


def convert(run: Run) -> None:
    """Inputs "model", and "feeds" and "encodings" where the recipe has them → output "model".

    And "quantization" where the precision is of whole numbers, be it by encodings alone. `params`:
    stem, argv (the converter's words), keeps_layout (inputs whose layout is said). The folder's
    names are always the same, because the C++ tells the whole command line.
    """
    sdk = sdk_here()
    if "feeds" not in run.inputs:
        ended = _run(run, sdk)
        net = _checked(run, ended)
        if "quantization" in run.outputs:
            inputs = inputs_of(run.inputs["model"] / "model.onnx")
            _tell(run, 0, _orders(inputs, _guessed(run, inputs), net, ended))
    else:
        _quantize(run, sdk)
    _same_bytes(run.outputs["model"] / f"{run.params['stem']}.bin")


def _quantize(run: Run, sdk: Sdk) -> None:
    """Once, or twice where the converter lays an input out otherwise than was foreseen."""
    inputs = inputs_of(run.inputs["model"] / "model.onnx")
    orders = _guessed(run, inputs)
    for last in (False, True):
        count = write_samples(run.inputs["feeds"], inputs, orders, INPUT_LIST)
        ended = _run(run, sdk)
        net = _checked(run, ended)
        found = _orders(inputs, orders, net, ended)
        if found == orders:
            break
        if last:
            raise ended.failure("the converter lays inputs out differently each time")
        orders = found
    _tell(run, count, orders)


def _guessed(run: Run, inputs: Sequence[Input]) -> dict[str, Order]:
    return {one.name: guess(one, run.params["keeps_layout"]) for one in inputs}


def _tell(run: Run, samples: int, orders: Mapping[str, Order]) -> None:
    told = {
        "by": "qnn-onnx-converter",
        "samples": samples,
        "layouts": {name: list(order) for name, order in orders.items()},
        "compared": "the SDK's converter gives no model that the CPU could run",
    }
    text = json.dumps(told, indent=1, sort_keys=True)
    (run.outputs["quantization"] / "quantization.json").write_text(text + "\n", encoding="utf-8")


def _run(run: Run, sdk: Sdk) -> Ended:
    argv = [*TOOL, *run.params["argv"]]
    if ENCODINGS in argv:
        (file,) = (path for path in run.inputs["encodings"].rglob("*") if path.is_file())
        argv[argv.index(ENCODINGS)] = file.as_posix()
    return run_tool(run, sdk, argv)


def _checked(run: Run, ended: Ended) -> Mapping[str, Any]:
    """What _net.json says. Exit code 0 is not success: the converter can end in the middle."""
    folder, stem = run.outputs["model"], run.params["stem"]
    if not any(COMPLETE in line for line in ended.lines):
        raise ended.failure("qnn-onnx-converter ended without a word that it is complete")
    for name in (f"{stem}.cpp", f"{stem}_net.json"):
        if not (folder / name).is_file() or not (folder / name).stat().st_size:
            raise ended.failure(f"qnn-onnx-converter ended well and did not write {name}")
    try:
        net: dict[str, Any] = json.loads((folder / f"{stem}_net.json").read_text(encoding="utf-8"))
    except ValueError:
        raise ended.failure(f"{stem}_net.json is not whole") from None
    weights = net.get("model.bin", "NA")
    if weights != "NA" and not (folder / f"{stem}.bin").is_file():
        raise ended.failure(f"qnn-onnx-converter ended well and did not write {stem}.bin")
    return net


def inputs_of(path: Path) -> list[Input]:
    facts, _ = read_model(mapped(path))
    return [
        Input(name=one.name, dtype=one.dtype, shape=tuple(int(size) for size in one.shape))
        for one in facts.inputs
    ]


def _orders(
    inputs: Sequence[Input], guessed: Mapping[str, Order], net: Mapping[str, Any], ended: Ended
) -> dict[str, Order]:
    tensors = dict(described(net, 0))
    orders = {}
    for one in inputs:
        tensor = tensors.get(one.name) or tensors.get(sdk_name(one.name))
        if tensor is None:
            raise ended.failure(
                f"the converted graph has no input '{one.name}'",
                facts=[("it has", ", ".join(tensors) or "none")],
                place=f"inputs.{one.name}",
            )
        orders[one.name] = found_order(one, tensor, guessed[one.name])
    return orders


def sdk_name(name: str) -> str:
    """What the SDK makes of a tensor's name."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
    return f"_{plain}" if plain[:1].isdigit() else plain


def _same_bytes(path: Path) -> None:
    """The weights are a tar file, in which there are times and users: none of them counts."""
    if not path.is_file():
        return
    new = path.with_name(f"{path.name}.new")
    try:
        with tarfile.open(path) as old, tarfile.open(new, "w", format=tarfile.GNU_FORMAT) as made:
            for member in old:
                if not member.isfile():
                    raise WorkError(f"{path.name} holds '{member.name}', which is no file")
                plain = tarfile.TarInfo(member.name)
                plain.size, plain.mode = member.size, 0o644
                made.addfile(plain, old.extractfile(member))
    except tarfile.TarError as error:
        raise WorkError(
            f"{path.name} is no whole tar file: {error}", place="graph", exit_code=5
        ) from None
    new.replace(path)
