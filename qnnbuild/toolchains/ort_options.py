"""Provider options of the QNN plugin, as data: what a recipe may set, and why not the rest.

Names, values and defaults are from the plugin's documentation. Which of them change the compiled
bytes was measured with onnxruntime-qnn 2.7.0: the same model compiled with and without. The plugin
itself takes unknown names without a word and bad values with at most a warning.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Scope(Enum):
    """What an option changes: the compiled bytes, or only how a device runs them."""

    BYTES = "bytes"
    RUN_TIME = "run time"


@dataclass(frozen=True, kw_only=True)
class Option:
    """`kind` is "switch" (0 or 1, true or false), "number" or "choice" (one of `values`)."""

    name: str
    kind: str
    default: str
    scope: Scope = Scope.BYTES
    values: tuple[str, ...] = ()
    low: int = 0
    high: int | None = None  # None: no limit of its own
    chip_limit: str | None = None  # the chip's figure that it may not exceed: "vtcm_mb"
    min_arch: int | None = None
    about: str


OPTIONS = (
    Option(
        name="htp_graph_finalization_optimization_mode",
        kind="choice",
        default="0",
        values=("0", "1", "2", "3"),
        about="how hard the compiler tries: 1 is quickest, 3 takes longest",
    ),
    Option(
        name="vtcm_mb",
        kind="number",
        default="0",
        low=1,
        chip_limit="vtcm_mb",
        about="megabytes of VTCM to use; without it all that the chip has",
    ),
    Option(
        name="enable_htp_spill_fill_buffer",
        kind="switch",
        default="0",
        about="one buffer for what does not fit into VTCM, shared by all graphs of a context",
    ),
    Option(
        name="offload_graph_io_quantization",
        kind="switch",
        default="1",
        about="quantization at the graph's borders runs on the CPU; 0 puts it on the NPU",
    ),
    Option(
        name="enable_htp_monolithic_lstm",
        kind="switch",
        default="0",
        about="an LSTM as one operator instead of one cell for each time step",
    ),
    Option(
        name="extended_udma",
        kind="switch",
        default="0",
        min_arch=81,
        about="the wider DMA engine; on older chips the compile fails",
    ),
    Option(
        name="enable_block_quant_weight_optimization",
        kind="switch",
        default="0",
        about="a faster way for weights that are quantized in blocks",
    ),
    Option(
        name="qnn_context_priority",
        kind="choice",
        default="normal",
        values=(
            "low",
            "normal_low",
            "normal",
            "normal_high",
            "high",
            "high_plus",
            "critical",
            "critical_plus",
        ),
        about="the context's priority on the device; it is written into the binary",
    ),
    Option(
        name="htp_performance_mode",
        kind="choice",
        default="default",
        scope=Scope.RUN_TIME,
        values=(
            "burst",
            "balanced",
            "default",
            "high_performance",
            "high_power_saver",
            "low_balanced",
            "low_power_saver",
            "power_saver",
            "extreme_power_saver",
            "sustained_high_performance",
        ),
        about="clocks against battery while the model runs",
    ),
    Option(
        name="rpc_control_latency",
        kind="number",
        default="0",
        scope=Scope.RUN_TIME,
        about="microseconds that a call to the DSP may take to wake it",
    ),
)

BY_NAME = {option.name: option for option in OPTIONS}

ELSEWHERE = {
    "soc_model": "the chip decides it: chips: [SM8750]",
    "htp_arch": "the chip decides it: chips: [SM8750]",
    "device_id": "the chip decides it: chips: [SM8750]",
    "backend_type": "this toolchain compiles for the HTP only",
    "backend_path": "this toolchain compiles for the HTP only",
    "enable_htp_fp16_precision": "precision: fp16 says it; it changes no byte",
    "htp_bf16_enable": "precision: bf16 says it",
    "session.disable_cpu_ep_fallback": "cpu_fallback: allow says it",
    "ep.context_enable": "every context is compiled ahead",
    "ep.context_embed_mode": "context: {embed: true} says it",
    "enable_htp_shared_memory_allocator": "an app sets it when it runs the binary",
    "enable_framework_op_trace": "it looks, and it can change the bytes: run the plugin by hand",
    "dump_json_qnn_graph": "it looks, and it can change the bytes: run the plugin by hand",
    "dump_qnn_ep_input_graph": "it looks, and it can change the bytes: run the plugin by hand",
    "dump_qnn_ir_dlc": "with it the plugin writes no context",
}  # fmt: skip
"""Options that exist and are said another way: name → the other way."""
