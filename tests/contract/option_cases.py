"""Sessions by which options of the QNN plugin show what they do, and what is expected of each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.toolchains.ort_options import BY_NAME


@dataclass(frozen=True, kw_only=True)
class Case:
    """One session. Compiles unless it `runs`; strict unless the CPU is `allowed`."""

    model: str = "conv"
    soc_model: int = 69
    options: Mapping[str, str] = field(default_factory=dict)
    entries: Mapping[str, str] = field(default_factory=dict)
    run: Mapping[str, str] = field(default_factory=dict)
    dynamic: Mapping[str, str] = field(default_factory=dict)
    allowed: bool = False
    runs: bool = False

    @property
    def name(self) -> str:
        said = {"o": self.options, "e": self.entries, "r": self.run, "d": self.dynamic}
        texts = [f"{kind}.{k}={v}" for kind, given in said.items() for k, v in given.items()]
        how = f"{self.allowed:d}{self.runs:d}"
        return re.sub(r"[^\w.=-]", "_", "+".join([self.model, str(self.soc_model), how, *texts]))

    def wanted(self) -> dict[str, Any]:
        compiles = {"ep.context_enable": "1", "ep.context_file_path": "m_ctx.onnx"}
        strict = {} if self.allowed else {"session.disable_cpu_ep_fallback": "1"}
        base = {"backend_type": "htp", "soc_model": str(self.soc_model)}
        return {
            "name": self.name,
            "model": self.model,
            "options": {**base, **self.options},
            "entries": {**({} if self.runs else compiles), **strict, **self.entries},
            "run": dict(self.run),
            "dynamic": dict(self.dynamic),
            "runs": self.runs,
        }

    @property
    def plain(self) -> Case:
        """The same without what it is about: `beside` stays."""
        kept = {k: v for k, v in self.options.items() if k in self.beside}
        return Case(model=self.model, soc_model=self.soc_model, options=kept, allowed=self.allowed)

    beside: tuple[str, ...] = ()  # options that are not what the case is about


def option(name: str, value: str, **how: Any) -> Case:
    beside: Mapping[str, str] = how.pop("beside", {})
    return Case(options={**beside, name: value}, beside=tuple(beside), **how)


def entry(name: str, value: str, **how: Any) -> Case:
    return Case(entries={name: value}, **how)


def each(name: str, **how: Any) -> list[Case]:
    """A case for each value of a choice that is not the default."""
    known = BY_NAME[name]
    return [option(name, value, **how) for value in known.values if value != known.default]


OTHER_BYTES: Mapping[str, list[Case]] = {
    "htp_graph_finalization_optimization_mode": each("htp_graph_finalization_optimization_mode"),
    "vtcm_mb": [option("vtcm_mb", "2"), option("vtcm_mb", "4")],
    "enable_htp_spill_fill_buffer": [
        option("enable_htp_spill_fill_buffer", "1", model="spills", beside={"vtcm_mb": "1"})
    ],
    "offload_graph_io_quantization": [
        option("offload_graph_io_quantization", "0", model="borders", allowed=True)
    ],
    "enable_htp_monolithic_lstm": [option("enable_htp_monolithic_lstm", "1", model="lstm")],
    "extended_udma": [option("extended_udma", "1", soc_model=87)],
    "enable_block_quant_weight_optimization": [
        option("enable_block_quant_weight_optimization", "1", model="blocks", allowed=True)
    ],
    "qnn_context_priority": each("qnn_context_priority"),
    "enable_htp_shared_memory_allocator": [option("enable_htp_shared_memory_allocator", "1")],
    "enable_htp_graph_splitting": [option("enable_htp_graph_splitting", "1")],
    "enable_htp_fp16_clamp_overflow": [option("enable_htp_fp16_clamp_overflow", "1")],
    "htp_bf16_enable": [option("htp_bf16_enable", "1", soc_model=88)],
    "soc_model": [option("soc_model", "57"), option("soc_model", "69,57")],
    "ep.context_embed_mode": [entry("ep.context_embed_mode", "1")],
    "ep.share_ep_contexts": [entry("ep.share_ep_contexts", "1")],
    "ep.stop_share_ep_contexts": [
        Case(entries={"ep.share_ep_contexts": "1", "ep.stop_share_ep_contexts": "1"})
    ],
}
"""Options of the bytes → sessions whose files are other ones than without."""

NOT_HERE = {
    "op_packages": "registers none on this host",
    "ep.context_node_name_prefix": "taken, and nothing done with it",
    "session.disable_cpu_ep_fallback": "ends the session, and leaves the files",
}
"""Options of the bytes that show otherwise; each has a test of its own below."""

SAME_BYTES: Mapping[str, list[Case]] = {
    "htp_performance_mode": [
        option("htp_performance_mode", mode) for mode in ("burst", "balanced")
    ],
    "rpc_control_latency": [option("rpc_control_latency", "100")],
    "enable_dx12_shared_memory_allocator": [option("enable_dx12_shared_memory_allocator", "1")],
    "disable_file_mapped_weights": [option("disable_file_mapped_weights", "1")],
    "num_graph_prepare_threads": [option("num_graph_prepare_threads", "4")],
    "skip_qnn_version_check": [option("skip_qnn_version_check", "1")],
    "genie_log_level": [option("genie_log_level", "info")],
    "profiling_level": each("profiling_level", beside={"profiling_file_path": "p.csv"}),
    "profiling_file_path": [option("profiling_file_path", "p.csv")],
    "skip_backend_op_validation": [option("skip_backend_op_validation", "1")],
    "enable_htp_prepare_only": [option("enable_htp_prepare_only", "1")],
    "enable_htp_prepare_and_load": [option("enable_htp_prepare_and_load", "1")],
    "htp_graph_splitting_num_prepare_threads": [
        option(
            "htp_graph_splitting_num_prepare_threads",
            "2",
            beside={"enable_htp_graph_splitting": "1"},
        )
    ],
    "htp_reused_io_limit_mb": [option("htp_reused_io_limit_mb", "1")],
    "enable_htp_fp16_precision": [option("enable_htp_fp16_precision", "1")],
    "ep.context_node_name_prefix": [entry("ep.context_node_name_prefix", "p_")],
}
"""Options that the compile takes, and whose binary and ctx.onnx are the same as without."""

REFUSED: Mapping[str, tuple[Case, str]] = {
    "device_id": (option("device_id", "1"), "Could not find device with ID = 1"),
    "enable_vtcm_backup_buffer_sharing": (
        option("enable_vtcm_backup_buffer_sharing", "1"),
        "QNN_COMMON_ERROR_NOT_SUPPORTED",
    ),
    "htp_share_resource_optimization": (
        option("htp_share_resource_optimization", "1"),
        "QNN_COMMON_ERROR_NOT_SUPPORTED",
    ),
    "op_packages": (
        option("op_packages", "Sum:libNone.so:provider"),
        "Op package registration is not supported",
    ),
    "backend_path": (option("backend_path", "libQnnHtp.so"), ""),
    "op_affinity": (option("op_affinity", "none.json"), "Failed to load op_affinity config file"),
    "qnn_saver_path": (option("qnn_saver_path", "none.so"), "Unable to load backend"),
    "htp_bf16_enable": (option("htp_bf16_enable", "1"), "BF16 mode is enabled but SoC model is 69"),
    "extended_udma": (option("extended_udma", "1"), "Failed to create tensor for node"),
    "profiling_level": (option("profiling_level", "basic"), ""),
    "enable_htp_prepare_only": (
        Case(options={"enable_htp_prepare_only": "1"}, entries={"ep.context_enable": "0"}),
        "",
    ),
    "enable_htp_prepare_and_load": (
        Case(options={"enable_htp_prepare_only": "1", "enable_htp_prepare_and_load": "1"}),
        "",
    ),
    "enable_htp_shared_memory_allocator": (
        option("enable_htp_shared_memory_allocator", "1", runs=True),
        "",
    ),
    "dump_qnn_ir_dlc": (
        Case(options={"dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "d"}),
        "Failed to get QNN context binary size",
    ),
    "kvcache_rewind": (
        Case(dynamic={"kvcache_rewind": "0"}, runs=True),
        "",
    ),
}
"""Options that end a session here → what is said."""

DUMPS = {
    "json_qnn_graph_dir": ("dump_json_qnn_graph", "*.json"),
    "dump_qnn_ep_input_graph_dir": ("dump_qnn_ep_input_graph", "*_qnn_ep_input_graph.json"),
    "framework_op_trace_dir": ("enable_framework_op_trace", "qnn_op_trace.json"),
}
"""A folder → the option that writes into it, and what."""

RUNS: Mapping[str, tuple[Case, str]] = {
    "qnn.perf_mode": (Case(run={"qnn.htp_perf_mode": "burst"}, runs=True), "mode: burst"),
    "qnn.htp_perf_mode_post_run": (
        Case(run={"qnn.htp_perf_mode_post_run": "balanced"}, runs=True),
        "mode: balanced",
    ),
    "qnn.rpc_control_latency": (
        Case(run={"qnn.rpc_control_latency": "123"}, runs=True),
        "Updating rpc control latency to: 123us",
    ),
    "qnn.lora_config": (
        Case(run={"qnn.lora_config": "none"}, runs=True),
        "Unable to load Lora Config none",
    ),
    "ep.dynamic.qnn_htp_performance_mode": (
        Case(dynamic={"ep.dynamic.qnn_htp_performance_mode": "burst"}, runs=True),
        "Updating htp performance mode to: burst",
    ),
    "htp_performance_mode": (
        option("htp_performance_mode", "burst", runs=True),
        "Updating htp performance mode to: burst",
    ),
    "rpc_control_latency": (
        option("rpc_control_latency", "123", runs=True),
        "Updating rpc control latency to: 123us",
    ),
}
"""What reaches the emulator when a model runs → what the verbose log says of it."""

EFFICIENT = Case(dynamic={"ep.dynamic.workload_type": "Efficient"}, runs=True)
LAZY = Case(dynamic={"ep.dynamic.workload_type": "Lazy"}, runs=True)
IGNORED = Case(run={"qnn.perf_mode": "nonsense"}, runs=True)
REWIND = Case(run={"kvcache_rewind": "0"}, runs=True)
ARCH = Case(options={"htp_arch": "73"})
TOO_MUCH = Case(options={"vtcm_mb": "16"})
NO_BACKEND = Case(options={"backend_type": "npu"})
STRICT_OFFLOAD = [
    Case(model="borders", options={"offload_graph_io_quantization": value}) for value in "01"
]
STRICT_BORDERS = Case(model="borders")
DLC = {"dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": "d"}
SCATTER, UNCHECKED_SCATTER = (
    Case(model="scatter", options={**DLC, **more}, entries={"ep.context_enable": "0"})
    for more in ({}, {"skip_backend_op_validation": "1"})
)
ERF = Case(model="erf", allowed=True)
STRICT_ERF = Case(model="erf")
DUMPING = [Case(options={by: "1", folder: "d"}) for folder, (by, _) in DUMPS.items()]
SAVER = Case(options={"backend_type": "saver"}, entries={"ep.context_enable": "0"})
IR = Case(options={"backend_type": "ir"}, entries={"ep.context_enable": "0"})


def every_case() -> list[Case]:
    shown = [case for cases in (*OTHER_BYTES.values(), *SAME_BYTES.values()) for case in cases]
    singles = [EFFICIENT, LAZY, IGNORED, REWIND, ARCH, TOO_MUCH, NO_BACKEND, SAVER, IR]
    told = [case for case, _ in (*REFUSED.values(), *RUNS.values())]
    cases = [
        *(*shown, *(case.plain for case in shown), *told),
        *(
            *singles,
            *STRICT_OFFLOAD,
            STRICT_BORDERS,
            SCATTER,
            UNCHECKED_SCATTER,
            ERF,
            STRICT_ERF,
            *DUMPING,
            Case(),
        ),
    ]
    return list({case.name: case for case in cases}.values())
