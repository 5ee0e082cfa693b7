"""qairt-quantizer: a DLC with the ranges that samples show; the graph keeps its name."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.standin.tools import dlc_file, input_list, own_packages, quantizing
from tests.standin.tools.library_file import UnreadableError
from tests.standin.tools.log import RefusedError, error, info
from tests.standin.tools.onnx_converter_args import CALIBRATIONS, SCHEMAS, percentile
from tests.standin.tools.onnx_graph import join
from tests.standin.tools.release import Release, parts, release

TOOL = "qairt-quantizer"
FLAGS = [
    "use_per_channel_quantization",
    "use_per_row_quantization",
    "enable_per_row_quantized_bias",
    "use_native_input_files",
    "use_native_output_files",
    "keep_weights_quantized",
    "adjust_bias_encoding",
    "use_aimet_quantizer",
    "dump_encoding_json",
    "export_stripped_dlc",
    "pack_4_bit_weights",
    "use_dynamic_16_bit_weights",
]


def parser(version: Release) -> argparse.ArgumentParser:
    new = version.spelling == "new"
    p = argparse.ArgumentParser(prog=TOOL)
    p.add_argument("-i", "--input_dlc", required=True)
    p.add_argument("-o", "--output_dlc")
    p.add_argument("-l", "--input_list")
    fallback = "enable_float_fallback" if new else "float_fallback"
    p.add_argument("-f", f"--{fallback}", dest="fallback", action="store_true")
    algorithms = "apply_algorithms" if new else "algorithms"
    p.add_argument(f"--{algorithms}", nargs="+", choices=["cle"])
    ignore = "ignore_quantization_overrides" if new else "ignore_encodings"
    p.add_argument(f"--{ignore}", dest="ignore", action="store_true")
    p.add_argument("-c", "--config" if new else "--config_file", dest="config")
    for name, allowed in [
        ("act", [8, 16]),
        ("weights", [4, 8, 16]),
        ("bias", [8, 32]),
        ("float", [32, 16]),
        ("float_bias", [0, 16, 32]),
    ]:
        p.add_argument(f"--{name}_bitwidth", type=int, choices=allowed)
    for name in ("act", "param"):
        p.add_argument(f"--{name}_quantizer_calibration", choices=CALIBRATIONS)
        p.add_argument(f"--{name}_quantizer_schema", choices=SCHEMAS)
    p.add_argument("--percentile_calibration_value", type=percentile)
    p.add_argument("--preserve_io_datatype", nargs="*")
    p.add_argument("--restrict_quantization_steps")
    p.add_argument("-opl", "--op_package_lib")
    p.add_argument("--target_backend")
    p.add_argument("--target_soc_model")
    p.add_argument("--debug", nargs="?", const=-1, type=int)
    for flag in FLAGS:
        p.add_argument(f"--{flag}", action="store_true")
    return p


def main(argv: list[str], root: Path) -> int:
    version = release(root)
    given = parser(version).parse_args(argv)
    try:
        return _quantize(given, version)
    except (RefusedError, UnreadableError) as refused:
        error(str(refused))
        return 1


def _quantize(given: argparse.Namespace, version: Release) -> int:
    if given.fallback and (given.input_list or given.ignore):
        raise RefusedError(
            "float fallback cannot be used with --input_list or with overrides ignored"
        )
    source = Path(given.input_dlc)
    model = dlc_file.read(source)
    if parts(model.meta["sdk"]) > version.number:
        raise RefusedError(f"{source} was made by a newer SDK: {model.meta['build_id']}")
    if model.meta.get("own_operators"):
        own_packages.converters(given)
    if given.input_list:
        native = given.use_native_input_files
        samples = input_list.read(Path(given.input_list), model.meta["inputs"], native=native)
        proto = join(model.meta["structure"], model.weights)
        quantizing.calibrate(model.meta, proto, samples, given.act_bitwidth or 8)
        model.meta["weight_bits"] = given.weights_bitwidth or 8
    path = Path(given.output_dlc or source.with_name(f"{source.stem}_quantized.dlc"))
    dlc_file.write(path, model, TOOL, version)
    info(f"INFO_WRITE_SUCCESS: Quantized model written to {path}")
    return 0
