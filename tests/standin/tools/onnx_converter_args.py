"""The flags of qnn-onnx-converter, with their choices; prefixes are accepted, as argparse does."""

from __future__ import annotations

import argparse

from tests.standin.tools.release import Release

LAYOUTS = [
    "NCDHW",
    "NDHWC",
    "NCHW",
    "NHWC",
    "NFC",
    "NCF",
    "NTF",
    "TNF",
    "NF",
    "NC",
    "F",
    "NONTRIVIAL",
]
DTYPES = [
    "float32",
    "float16",
    "float64",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "bool",
]
CALIBRATIONS = ["min-max", "sqnr", "entropy", "mse", "percentile"]
SCHEMAS = ["asymmetric", "symmetric", "unsignedsymmetric"]
ENCODINGS = ["bgr", "rgb", "rgba", "argb32", "nv21", "nv12", "time_series", "other"]

FLAGS = [
    "keep_disconnected_nodes",
    "keep_quant_nodes",
    "disable_batchnorm_folding",
    "ignore_encodings",
    "float_fallback",
    "use_per_channel_quantization",
    "use_per_row_quantization",
    "enable_per_row_quantized_bias",
    "use_native_input_files",
    "use_native_dtype",
    "use_native_output_files",
    "disable_relu_squashing",
    "pack_4_bit_weights",
    "keep_weights_quantized",
    "use_dynamic_16_bit_weights",
    "overwrite_model_prefix",
    "exclude_named_tensors",
    "arch_checker",
    "calc_static_encodings",
    "defer_loading",
    "disable_node_validation",
    "disable_qnn_op_config_validation",
    "dump_encoding_json",
    "dump_inferred_model",
    "dump_ir",
    "dump_qairt_io_config_yaml",
    "dump_qairt_quantizer_command",
    "dump_value_info",
    "enable_framework_trace",
    "enable_match_gathernd",
    "enable_match_topk",
    "expand_gru_op_structure",
    "expand_lstm_op_structure",
    "expand_sparse_op_structure",
    "include_data_invariant_ops",
    "keep_int64_inputs",
    "multi_time_steps_gru",
    "multi_time_steps_lstm",
    "perform_axes_to_spatial_first_order",
    "perform_layout_transformation",
    "prepare_inputs_as_params",
    "preserve_onnx_output_order",
    "unroll_gru_time_steps",
    "unroll_lstm_time_steps",
    "use_aimet_quantizer",
    "use_convert_quantization_nodes",
    "use_quantize_v2",
    "validate_models",
]
VALUES = [
    "custom_io",
    "dump_custom_io_config_template",
    "input_list",
    "quantization_overrides",
    "copyright_file",
    "restrict_quantization_steps",
    "packed_masked_softmax_inputs",
    "packed_max_seq",
    "backend",
    "export_format",
    "model_version",
    "quantizer_log",
]


def parser(release: Release) -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog="qnn-onnx-converter")
    p.add_argument("-i", "--input_network", required=True)
    p.add_argument("-o", "--output_path")
    p.add_argument("-n", "--no_simplification", action="store_true")
    p.add_argument("-b", "--batch", type=int)
    p.add_argument("--dry_run", nargs="?", const="info", choices=["info", "debug"])
    p.add_argument("--preserve_io", nargs="*", action="append")
    p.add_argument("--algorithms", nargs="+", choices=["cle"])
    p.add_argument("--apply_masked_softmax", choices=["compressed", "uncompressed"])
    p.add_argument("--debug", nargs="?", const=-1, type=int)
    _of_tensors(p)
    _of_quantisation(p, release)
    _of_packages(p)
    for flag in FLAGS:
        p.add_argument(f"--{flag}", action="store_true")
    if release.number >= (2, 42):
        p.add_argument("--disable_defer_loading", action="store_true")
    for value in VALUES:
        p.add_argument(f"--{value}")
    return p


def _of_tensors(p: argparse.ArgumentParser) -> None:
    pair = {"nargs": 2, "action": "append", "default": []}
    p.add_argument("-d", "--input_dim", metavar=("NAME", "DIMS"), **pair)  # type: ignore[arg-type]  # argparse's stubs know no mixed **kwargs
    for short, name in [
        (None, "input_dtype"),
        ("-t", "input_type"),
        ("-l", "input_layout"),
        ("-s", "define_symbol"),
    ]:
        flags = [f for f in (short, f"--{name}") if f]
        p.add_argument(*flags, metavar=("NAME", "VALUE"), **pair)  # type: ignore[arg-type]  # as above
    p.add_argument("-e", "--input_encoding", nargs="+", action="append", default=[])
    p.add_argument("--out_node", "--out_name", dest="out_node", action="append", default=[])


def _of_quantisation(p: argparse.ArgumentParser, release: Release) -> None:
    widths = {
        "act": [8, 16],
        "weights": release.weight_bits,
        "bias": [8, 32],
        "float": [32, 16],
        "float_bias": [0, 16, 32],
    }
    short = {"weights": "weight"}
    for name, allowed in widths.items():
        flags = [f"--{name}_bitwidth"]
        if release.short_widths:
            flags.append(f"--{short.get(name, name)}_bw")
        p.add_argument(*flags, dest=f"{name}_bitwidth", type=int, choices=allowed)
    for name in ("act", "param"):
        old = ["tf", "enhanced", "adjusted", "symmetric"]
        p.add_argument(f"--{name}_quantizer", choices=old)
        p.add_argument(f"--{name}_quantizer_calibration", choices=CALIBRATIONS)
        p.add_argument(f"--{name}_quantizer_schema", choices=SCHEMAS)
    p.add_argument("--percentile_calibration_value", type=percentile)


def _of_packages(p: argparse.ArgumentParser) -> None:
    p.add_argument("-opl", "--op_package_lib")
    p.add_argument("-cpl", "--converter_op_package_lib")
    either = p.add_mutually_exclusive_group()
    either.add_argument("-p", "--package_name")
    either.add_argument("-opc", "--op_package_config", nargs="+")


def percentile(text: str) -> float:
    value = float(text)
    if not 90 <= value <= 100:
        raise argparse.ArgumentTypeError(f"{text} is not from 90 to 100")
    return value


def checked_pairs(
    p: argparse.ArgumentParser, flag: str, pairs: list[list[str]], allowed: list[str]
) -> dict[str, str]:
    for _, value in pairs:
        if value not in allowed:
            p.error(f"argument --{flag}: invalid choice: {value!r} (choose from {allowed})")
    return {pair[0]: pair[1] for pair in pairs}


def command_line(p: argparse.Namespace) -> str:
    """The dump of all arguments, as the source's head and _net.json hold it: with their paths."""
    given = "; ".join(f"{name}={value}" for name, value in sorted(vars(p).items()))
    return f"qnn-onnx-converter; {given}"
