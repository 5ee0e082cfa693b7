"""qairt-converter: one DLC, in the source's layouts; the graph is called as the output is."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.standin.tools import dlc_file, own_packages, quantizing
from tests.standin.tools.converting import Wanted, dims_of, graph_of, packages_of
from tests.standin.tools.library_file import Model
from tests.standin.tools.log import RefusedError, error, info
from tests.standin.tools.onnx_converter_args import DTYPES, LAYOUTS, checked_pairs
from tests.standin.tools.onnx_graph import load
from tests.standin.tools.release import Release, release, switch

TOOL = "qairt-converter"
BACKENDS = ["CPU", "GPU", "DSP", "HTP", "HTA", "LPAI"]
FLAGS = [
    "dry_run",
    "enable_framework_trace",
    "onnx_validate_models",
    "onnx_summary",
    "onnx_perform_sequence_construct_optimizer",
    "remove_unused_inputs",
    "preserve_onnx_output_order",
    "dump_exported_onnx",
]
VALUES = ["gguf_config", "lora_weight_list", "copyright_file", "tflite_signature_name"]
PAIRS = [
    "source_model_output_layout",
    "desired_output_layout",
    "desired_input_layout",
    "onnx_define_symbol",
]
RENAMED = {  # new: old; a version takes one of the two
    "config": "io_config",
    "dump_config_template": "dump_io_config_template",
    "onnx_override_batch": "onnx_batch",
    "set_model_version": "model_version",
}


def parser(version: Release) -> argparse.ArgumentParser:
    new = version.spelling == "new"
    p = argparse.ArgumentParser(prog=TOOL)
    p.add_argument("-i", "--input_network", required=True)
    p.add_argument("-o", "--output_path")
    shape = ["-d", "--desired_input_shape"]  # both spellings are still taken at 2.48
    shape += ["-s", "--source_model_input_shape"] if new else []
    p.add_argument(*shape, dest="shape", nargs=2, action="append", default=[])
    for name in ("source_model_input_datatype", "source_model_input_layout", *PAIRS):
        p.add_argument(f"--{name}", nargs=2, action="append", default=[])
    p.add_argument("--out_tensor_node", "--out_tensor_name", action="append", default=[])
    for name, old in RENAMED.items():
        p.add_argument(f"--{name if new else old}", dest=name)
    simple = "onnx_skip_simplification" if new else "onnx_no_simplification"
    p.add_argument("-oss", f"--{simple}", dest="simple", action="store_true")
    p.add_argument("-e", "--desired_input_color_encoding", nargs="+", action="append")
    p.add_argument("-q", "--quantization_overrides")
    p.add_argument("--preserve_io_datatype", nargs="*")
    p.add_argument("--debug", nargs="?", const=-1, type=int)
    p.add_argument("--float_bitwidth", type=int, choices=[32, 16])
    p.add_argument("--float_bias_bitwidth", type=int, choices=[0, 32, 16])
    p.add_argument("--export_format", choices=["DLC_DEFAULT", "DLC_STRIP_QUANT"])
    p.add_argument("--target_backend", choices=BACKENDS)
    p.add_argument("--target_soc_model")
    p.add_argument("-cpl", "--converter_op_package_lib")
    either = p.add_mutually_exclusive_group()
    either.add_argument("-p", "--package_name")
    either.add_argument("-opc", "--op_package_config", nargs="+")
    for flag in FLAGS:
        p.add_argument(f"--{flag}", action="store_true")
    for value in VALUES:
        p.add_argument(f"--{value}")
    return p


def main(argv: list[str], root: Path) -> int:
    version = release(root)
    p = parser(version)
    given = p.parse_args(argv)
    info("INFO_INITIALIZATION_SUCCESS: ")
    layouts = checked_pairs(
        p, "source_model_input_layout", given.source_model_input_layout, LAYOUTS
    )
    dtypes = checked_pairs(
        p, "source_model_input_datatype", given.source_model_input_datatype, DTYPES
    )
    try:
        wanted = Wanted(
            dims=dims_of(given.shape),
            dtypes=dtypes,
            layouts=layouts,
            symbols={name: int(value) for name, value in given.onnx_define_symbol},
            batch=int(given.onnx_override_batch) if given.onnx_override_batch else None,
            outputs=given.out_tensor_node,
            keep_layout=[],
            float_bits=given.float_bitwidth or 32,
            packages=packages_of(given.op_package_config, given.package_name),
        )
        return _convert(given, wanted, version, root)
    except RefusedError as refused:
        error(str(refused))
        return 1


def _convert(given: argparse.Namespace, wanted: Wanted, version: Release, root: Path) -> int:
    if given.target_soc_model and not given.target_backend:
        raise RefusedError("--target_soc_model needs --target_backend")
    network = Path(given.input_network)
    model = load(network)
    path = Path(given.output_path or network.with_suffix(".dlc"))
    meta, weights = graph_of(model, path.stem, "QnnModel", wanted, version)
    if meta["own_operators"]:
        own_packages.converters(given)
    if given.quantization_overrides:
        quantizing.override(meta, Path(given.quantization_overrides))
    if given.dry_run:
        return 0
    info("INFO_CONVERSION_SUCCESS: Conversion completed successfully")
    if switch(root, TOOL) == "no-dlc":
        return 0
    dlc_file.write(path, Model(meta, weights), TOOL, version)
    info(f"INFO_WRITE_SUCCESS: Write saved at {path}")
    return 0
