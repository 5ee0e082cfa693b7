"""Runs quantize_ort as the engine does, on samples made here."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from qnnbuild.model.recipe import Quantization
from qnnbuild.work.quantize_ort import quantize
from qnnbuild.work.run import Run
from qnnbuild.work.walk import shape_of


@dataclass(frozen=True, kw_only=True)
class Made:
    run: Run
    said: dict[str, Any]  # quantization.json
    model: onnx.ModelProto

    @property
    def warnings(self) -> list[str]:
        return [notice.message for notice in self.run.warnings]

    @property
    def bytes(self) -> bytes:
        return (self.run.outputs["model"] / "model.onnx").read_bytes()

    def dtypes(self) -> dict[str, str]:
        """Tensor → the type that it got, whole."""
        return {
            name: said["dtype"] + (f"→{said['converted_to']}" if "converted_to" in said else "")
            for name, said in self.said["tensors"].items()
        }


def params(wanted: Quantization) -> dict[str, Any]:
    """As they stand in the key: JSON, and the encodings' file is an input."""
    said = {name: value for name, value in asdict(wanted).items() if name != "encodings"}
    made: dict[str, Any] = json.loads(json.dumps(said))
    return made


def write_feeds(model: onnx.ModelProto, folder: Path, count: int = 4, scale: float = 1.0) -> Path:
    folder.mkdir(parents=True)
    random = np.random.default_rng(11)
    for number in range(count):
        arrays: dict[str, Any] = {}
        for value in model.graph.input:
            shape = [size for size in shape_of(value) or () if isinstance(size, int)]
            arrays[value.name] = (scale * random.standard_normal(shape)).astype(np.float32)
        np.savez(folder / f"{number:06}.npz", **arrays)
    return folder


def quantized(
    folder: Path,
    model: onnx.ModelProto,
    wanted: Quantization | None = None,
    *,
    feeds: bool = True,
    scale: float = 1.0,
    encodings: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
    beside: bool = False,
) -> Made:
    """`beside`: the weights are in a side file."""
    inputs = {"model": folder / "in/model"}
    inputs["model"].mkdir(parents=True)
    path = str(inputs["model"] / "model.onnx")
    if beside:
        onnx.save_model(deepcopy(model), path, save_as_external_data=True, location="model.data")
    else:
        onnx.save(model, path)
    if feeds:
        inputs["feeds"] = write_feeds(model, folder / "in/feeds", scale=scale)
    for name, file, value in (
        ("encodings", "any.encodings", encodings),
        ("names", "names.json", names),
    ):
        if value is not None:
            inputs[name] = folder / "in" / name
            inputs[name].mkdir()
            (inputs[name] / file).write_text(json.dumps(value))
    outputs = {name: folder / "out" / name for name in ("model", "quantization")}
    for made in outputs.values():
        made.mkdir(parents=True)
    run = Run(params=params(wanted or Quantization()), inputs=inputs, outputs=outputs)
    quantize(run)
    return Made(
        run=run,
        said=json.loads((outputs["quantization"] / "quantization.json").read_text()),
        model=onnx.load(str(outputs["model"] / "model.onnx")),
    )
