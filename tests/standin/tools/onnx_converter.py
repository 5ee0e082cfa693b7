"""qnn-onnx-converter."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tests.standin.tools import (
    input_list,
    model_files,
    onnx_converter_args,
    own_packages,
    quantizing,
)
from tests.standin.tools.converting import Wanted, dims_of, graph_of, packages_of
from tests.standin.tools.log import RefusedError, error, info
from tests.standin.tools.meta import Meta
from tests.standin.tools.names import function_prefix, graph_name
from tests.standin.tools.onnx_graph import join, load
from tests.standin.tools.release import Release, release, switch


def main(argv: list[str], root: Path) -> int:
    version = release(root)
    parser = onnx_converter_args.parser(version)
    given = parser.parse_args(argv)
    try:
        wanted = _wanted(parser, given)
        _check(given)
        return _convert(given, wanted, version, root)
    except RefusedError as refused:
        error(str(refused))
        return 1


def _wanted(parser: argparse.ArgumentParser, given: argparse.Namespace) -> Wanted:
    checked = onnx_converter_args.checked_pairs
    checked(parser, "input_type", given.input_type, ["image", "default", "opaque"])
    kept = [names[1:] for names in given.preserve_io or [] if not names or names[0] == "layout"]
    for names in given.preserve_io or []:
        if names and names[0] not in ("layout", "datatype"):
            parser.error(f"argument --preserve_io: invalid choice: {names[0]!r}")
    return Wanted(
        dims=dims_of(given.input_dim),
        dtypes=checked(parser, "input_dtype", given.input_dtype, onnx_converter_args.DTYPES),
        layouts=checked(parser, "input_layout", given.input_layout, onnx_converter_args.LAYOUTS),
        symbols={name: int(value) for name, value in given.define_symbol},
        batch=given.batch,
        outputs=given.out_node,
        keep_layout=[name for names in kept for name in names] if kept else None,
        float_bits=given.float_bitwidth or 32,
        packages=packages_of(given.op_package_config, given.package_name),
    )


def _check(given: argparse.Namespace) -> None:
    if given.ignore_encodings and given.quantization_overrides:
        raise RefusedError("--ignore_encodings cannot be used with --quantization_overrides")
    if given.float_fallback and (given.input_list or given.ignore_encodings):
        raise RefusedError(
            "--float_fallback cannot be used with --input_list or --ignore_encodings"
        )


def _convert(given: argparse.Namespace, wanted: Wanted, version: Release, root: Path) -> int:
    network = Path(given.input_network)
    model = load(network)
    path = Path(given.output_path or network.with_suffix(".cpp"))
    stem = path.stem if path.suffix == ".cpp" else path.name
    prefix = function_prefix(stem, overwrite=given.overwrite_model_prefix)
    info("Processing " + str(network))
    meta, weights = graph_of(model, graph_name(stem), prefix, wanted, version)
    if meta["own_operators"]:
        own_packages.converters(given)
    _quantize(given, meta, weights)
    if switch(root, "qnn-onnx-converter") == "abrupt":
        return 0
    if given.dry_run:
        info("Dry run: nothing is written")
        return 0
    info("Saving QNN Model...", 246)
    path.parent.mkdir(parents=True, exist_ok=True)
    command = onnx_converter_args.command_line(given)
    binary = path.with_name(f"{stem}.bin") if meta["statics"] else None
    path.write_text(model_files.source(meta, command, version), encoding="utf-8")
    if binary:
        binary.write_bytes(weights)
    net = model_files.net_json(meta, command, version, path, binary)
    net_path = path.with_name(f"{stem}_net.json")
    net_path.write_text(json.dumps(net, indent=2) + "\n", encoding="utf-8")
    info(f"Total params count: {sum(tensor['count'] for tensor in meta['statics'])}", 151)
    info(f"Model CPP saved at: {path.absolute()} ", 249)
    if binary:
        info(f"Model BIN saved at: {binary.absolute()} ", 250)
    info("Conversion complete!", 251)
    return 0


def _quantize(given: argparse.Namespace, meta: Meta, weights: bytes) -> None:
    samples = []
    if given.input_list:
        native = given.use_native_input_files or given.use_native_dtype
        samples = input_list.read(Path(given.input_list), meta["inputs"], native=native)
    if given.quantization_overrides:
        quantizing.override(meta, Path(given.quantization_overrides))
    if not given.input_list:
        info("Skipping quantization, no input_list provided")
        return
    model = join(meta["structure"], weights)
    quantizing.calibrate(meta, model, samples, given.act_bitwidth or 8)
    meta["weight_bits"] = given.weights_bitwidth or 8
    info("Quantization completed successfully")
