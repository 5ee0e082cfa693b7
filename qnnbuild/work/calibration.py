"""The range of each tensor over all samples, seen on the CPU; memory does not grow with them.

onnxruntime's own calibrators keep every inner tensor of every sample until the end, find nothing
by entropy in their 128 bins, and add up on as many threads as there are; hence this.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, TensorProto, ValueInfoProto, helper

from qnnbuild.work.compare import cannot_run
from qnnbuild.work.feeds import Array, read_feeds
from qnnbuild.work.masks import FAR, MASKED, before_softmax, watch_unmasked
from qnnbuild.work.model_bytes import write
from qnnbuild.work.run import WorkError
from qnnbuild.work.thresholds import by_entropy, by_percentile
from qnnbuild.work.walk import all_names, free_name, shape_of

BINS = 2048
GROUP_BYTES = 256 << 20
"""Inner tensors that are looked at in one run when histograms need all their values."""


@dataclass(frozen=True, kw_only=True)
class Range:
    """`low` and `high` are what the scale is made for; `least` and `most` what was seen."""

    low: float
    high: float
    least: float
    most: float
    masked: bool = False  # lower values were seen, that a softmax makes 0 of


@dataclass(kw_only=True)
class _Seen:
    """Least and greatest values of each tensor, kept as samples go by."""

    names: Sequence[str]
    count: int = 0
    least: Array = field(init=False)
    most: Array = field(init=False)
    lows: Array = field(init=False)  # sums, for the mean
    highs: Array = field(init=False)

    def __post_init__(self) -> None:
        self.least = np.full(len(self.names), np.inf)
        self.most = np.full(len(self.names), -np.inf)
        self.lows = np.zeros(len(self.names))
        self.highs = np.zeros(len(self.names))

    def add(self, low: Array, high: Array) -> None:
        self.count += 1
        np.minimum(self.least, low, out=self.least)
        np.maximum(self.most, high, out=self.most)
        self.lows += low
        self.highs += high


def ranges(
    model: ModelProto,
    folder: Path,
    files: Sequence[Path],
    *,
    method: str,
    percentile: float | None,
) -> dict[str, Range]:
    """Each float tensor's range. `folder` holds the model's side files and takes what is tried."""
    values = float_tensors(model)
    seen = _extremes(model, folder, files, list(values))
    _check_finite(seen)
    if method == "moving_average":
        low, high = seen.lows / seen.count, seen.highs / seen.count
    else:
        low, high = seen.least.copy(), seen.most.copy()
    whole = {
        name: Range(low=float(a), high=float(b), least=float(c), most=float(d))
        for name, a, b, c, d in zip(seen.names, low, high, seen.least, seen.most, strict=True)
    }
    whole |= _unmasked(model, folder, files, whole)
    if method not in ("percentile", "entropy"):
        return whole
    counts = _histograms(model, folder, files, whole, values, magnitudes=method == "entropy")
    return {
        name: _cut(one, counts[name], method, percentile if percentile is not None else 99.99)
        for name, one in whole.items()
    }


def _unmasked(
    model: ModelProto, folder: Path, files: Sequence[Path], whole: Mapping[str, Range]
) -> dict[str, Range]:
    """Ranges of tensors that hold masks, down to a little below what is no mask."""
    before = before_softmax(model)
    names = [name for name, one in whole.items() if one.least < MASKED and name in before]
    if not names:
        return {}
    watched = _copy(model)
    outputs = watch_unmasked(watched, names)
    least = np.zeros(len(names))
    for found in _answers(watched, folder, files, outputs):
        np.minimum(least, np.array([float(value) for value in found]), out=least)
    made: dict[str, Range] = {}
    for name, low in zip(names, least - FAR, strict=True):
        high = max(whole[name].high, float(low) + FAR)
        made[name] = Range(low=float(low), high=high, least=float(low), most=high, masked=True)
    return made


def _cut(seen: Range, counts: Array, method: str, percentile: float) -> Range:
    if method == "percentile":
        low, high = by_percentile(counts, seen.least, seen.most, percentile)
    else:
        peak = by_entropy(counts, max(abs(seen.least), abs(seen.most)))
        low, high = max(seen.least, -peak), min(seen.most, peak)
    return replace(seen, low=low, high=high)


def float_tensors(model: ModelProto) -> dict[str, ValueInfoProto]:
    """Float tensors that nodes read or make, weights left out, in the graph's order."""
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    known = {value.name: value for value in [*graph.value_info, *graph.output, *graph.input]}
    used = dict.fromkeys(
        name for node in graph.node for name in [*node.input, *node.output] if name not in stored
    )
    floats = (TensorProto.FLOAT, TensorProto.FLOAT16)
    found = {
        name: known[name]
        for name in used
        if name in known and known[name].type.tensor_type.elem_type in floats
    }
    halves = [n for n, v in found.items() if v.type.tensor_type.elem_type == TensorProto.FLOAT16]
    if halves:
        raise WorkError(
            "a model that computes in float16 cannot be quantized",
            place="precision",
            facts=[("a float16 tensor", halves[0])],
            hint="cast: {float16: float32}",
            exit_code=2,
        )
    return found


def _extremes(
    model: ModelProto, folder: Path, files: Sequence[Path], names: Sequence[str]
) -> _Seen:
    """One run for each sample; the least and greatest values are found inside the graph."""
    watched = _copy(model)
    taken = all_names(watched)
    outputs: list[str] = []
    for name in names:
        for operator in ("ReduceMin", "ReduceMax"):
            output = free_name(f"{name}/{operator}", taken)
            node = helper.make_node(operator, [name], [output], name=output, keepdims=0)
            watched.graph.node.append(node)
            watched.graph.output.append(
                helper.make_tensor_value_info(output, TensorProto.FLOAT, [])
            )
            outputs.append(output)
    seen = _Seen(names=names)
    for found in _answers(watched, folder, files, outputs):
        flat = np.array([float(value) for value in found], np.float64)
        seen.add(flat[0::2], flat[1::2])
    return seen


def _copy(model: ModelProto) -> ModelProto:
    copied = ModelProto()
    copied.CopyFrom(model)
    return copied


def _histograms(
    model: ModelProto,
    folder: Path,
    files: Sequence[Path],
    whole: Mapping[str, Range],
    values: Mapping[str, ValueInfoProto],
    *,
    magnitudes: bool,
) -> dict[str, Array]:
    """How often values lie in each of equal bins: of the seen range, or of magnitudes from 0."""
    counts = {name: np.zeros(BINS, np.int64) for name in whole}
    for group in _groups(values):
        watched = _copy(model)
        known = {value.name for value in watched.graph.output}
        watched.graph.output.extend(values[name] for name in group if name not in known)
        for found in _answers(watched, folder, files, group):
            for name, array in zip(group, found, strict=True):
                one = whole[name]
                peak = max(abs(one.least), abs(one.most))
                limits = (0.0, peak) if magnitudes else (one.least, one.most)
                if limits[0] < limits[1]:
                    shown = np.abs(array) if magnitudes else array
                    counts[name] += np.histogram(shown, BINS, limits)[0]
    return counts


def _groups(values: Mapping[str, ValueInfoProto]) -> Iterator[list[str]]:
    """Tensors that together are small enough to be held at once."""
    group: list[str] = []
    held = 0
    for name, value in values.items():
        sizes = [size for size in shape_of(value) or () if isinstance(size, int)]
        size = 4 * int(np.prod(sizes, dtype=np.int64))
        if group and held + size > GROUP_BYTES:
            yield group
            group, held = [], 0
        group.append(name)
        held += size
    if group:
        yield group


def _answers(
    model: ModelProto, folder: Path, files: Sequence[Path], outputs: Sequence[str]
) -> Iterator[list[Any]]:
    """What the graph answers to each sample, on one thread so that sums have one order."""
    path = folder / "watched.onnx"
    write(model, path)
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.log_severity_level = 4
    try:
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        inputs = [value.name for value in session.get_inputs()]
        for number, feeds in enumerate(read_feeds(files, inputs), 1):
            yield session.run(list(outputs), feeds)
            if number % 100 == 0:
                sys.stdout.write(f"{number} of {len(files)} samples\n")
    except WorkError:
        raise
    except Exception as error:  # noqa: BLE001  # the runtime's own classes are private
        raise cannot_run(error) from None
    finally:
        path.unlink(missing_ok=True)


def _check_finite(seen: _Seen) -> None:
    bad = np.flatnonzero(~(np.isfinite(seen.least) & np.isfinite(seen.most)))
    if bad.size:
        first = int(bad[0])
        raise WorkError(
            f"the tensor '{seen.names[first]}' is not finite on the calibration samples",
            place="calibration",
            facts=[
                ("least and greatest", f"{seen.least[first]:g}, {seen.most[first]:g}"),
                ("tensors like this", str(bad.size)),
            ],
            hint="the samples may be outside of what the model was trained for; nodes that make "
            "such values by intent can stay float: float: {nodes: [NAME]}",
            exit_code=5,
        )
