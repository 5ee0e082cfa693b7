"""The generator's two JSON files: what is known is checked, what is not passes in silence."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tests.standin.tools.log import RefusedError, timed
from tests.standin.tools.release import Release

SECTIONS = {"graphs", "devices", "context", "memory", "groupContext"}
OUTER: Mapping[str, set[str]] = {
    "backend_extensions": {"shared_library_path", "config_file_path"},
    "context_configs": {
        "context_priority",
        "async_execute_queue_depth",
        "enable_graphs",
        "memory_limit_hint",
        "is_persistent_binary",
        "cache_compatibility_mode",
    },
    "graph_configs": {
        "graph_name",
        "graph_priority",
        "graph_profiling_start_delay",
        "graph_profiling_num_executions",
    },
    "profile_configs": {"num_max_events"},
    "async_graph_execution_config": {
        "input_tensors_creation_tasks_limit",
        "execute_enqueue_tasks_limit",
    },
}
CHIPS: Mapping[int, tuple[str, int, int]] = {  # soc_model: name, arch, VTCM in MB
    52: ("SA8255", 73, 8),
    39: ("SA8295", 68, 8),
    72: ("SA8797", 81, 16),
    30: ("SM8350", 68, 4),
    36: ("SM8450", 69, 8),
    42: ("SM8475", 69, 8),
    43: ("SM8550", 73, 8),
    57: ("SM8650", 75, 8),
    69: ("SM8750", 79, 8),
    93: ("QCM6490", 68, 2),
    87: ("SM8850", 81, 8),
    97: ("SM8845", 81, 8),
    46: ("SSG2115P", 73, 2),
    58: ("SSG2125P", 73, 2),
    45: ("SXR1230P", 73, 2),
    53: ("SXR2230P", 69, 8),
    75: ("SXR2330P", 79, 8),
    77: ("QCS9100", 73, 8),
    95: ("SAR2230P", 81, 4),
    96: ("SW6100", 81, 4),
    60: ("SC8380XP", 73, 8),
    88: ("SC8480XP", 81, 8),
    68: ("SM8635", 73, 8),
}
PERF = [
    "burst",
    "sustained_high_performance",
    "high_performance",
    "balanced",
    "low_balanced",
    "high_power_saver",
    "power_saver",
    "low_power_saver",
    "extreme_power_saver",
    "system_settings",
    "custom",
]


class Bound(NamedTuple):
    """What holds for one graph; the values are those of a graph that nothing binds to."""

    O: int = 0  # noqa: E741  # the key's own name
    vtcm_mb: int = 4
    hvx: int = 0
    dlbc: int = 0


class Chosen(NamedTuple):
    arch: int = 68
    soc_model: int = 0
    soc_type: str = "UNKNOWN"
    share_weights: bool = False
    graphs: Mapping[str, Bound] = {}


def outer(path: Path) -> Mapping[str, Any]:
    """The HTP config that the outer file leads to; {} when it wraps none, and nobody says so."""
    config = _json(path)
    for name, value in config.items():
        if name in SECTIONS:
            continue  # a bare HTP config: not a word
        if name not in OUTER:
            timed("ERROR", f"Invalid key: {name}")
            continue
        entries = value if isinstance(value, list) else [value]
        for at, entry in enumerate(entries):
            for key in entry if isinstance(entry, dict) else ():
                if key not in OUTER[name]:
                    middle = f"/{at}" if isinstance(value, list) else ""
                    timed("ERROR", f"Invalid key: {name}{middle}/{key}")
    wrapped = config.get("backend_extensions")
    if not isinstance(wrapped, dict) or "config_file_path" not in wrapped:
        return {}
    extension = str(wrapped.get("shared_library_path", ""))
    if found(extension) is None:
        raise RefusedError(f"Unable to load backend extensions: {extension}")
    return _json(Path(wrapped["config_file_path"]))  # from the cwd, not from the wrapper's folder


def found(library: str) -> Path | None:
    """As the loader finds it: a bare name through LD_LIBRARY_PATH."""
    if "/" in library:
        return Path(library) if Path(library).is_file() else None
    for folder in os.environ.get("LD_LIBRARY_PATH", "").split(":"):
        if folder and library and (Path(folder) / library).is_file():
            return Path(folder) / library
    return None


def chosen(config: Mapping[str, Any], release: Release) -> Chosen:
    """Raises RefusedError for a known key with a wrong type or word."""
    graphs = _entries(config, "graphs")
    devices = _entries(config, "devices")
    context = config.get("context", {})
    for entry in graphs:
        _check("graphs", entry, _graph_keys(release))
    for entry in devices:
        _check_device(entry, release)
    _check("context", context, {"weight_sharing_enabled": _flag})
    first = devices[0] if devices else {}
    model = next((first[key] for key in release.soc_keys if key in first), 0)
    name, arch, vtcm = CHIPS.get(model, ("UNKNOWN", 68, 0))
    arch = int(first["dsp_arch"].removeprefix("v")) if "dsp_arch" in first else arch
    bound: dict[str, Bound] = {}
    for entry in graphs:
        most = vtcm or 4
        values = Bound(
            O=int(entry.get("O", 2)),
            vtcm_mb=entry.get("vtcm_mb", 4) or most,
            hvx=entry.get("hvx_threads", 4),
            dlbc=int(entry.get("dlbc", 0)),
        )
        bound |= dict.fromkeys(entry.get("graph_names", []), values)
    share = bool(context.get("weight_sharing_enabled", False))
    return Chosen(arch, model, name, share, bound)


def _entries(config: Mapping[str, Any], section: str) -> list[Any]:
    entries = config.get(section, [])
    if not isinstance(entries, list):
        raise RefusedError(f"Invalid type of {section}: an array is expected")
    return entries


def _check_device(entry: Any, release: Release) -> None:
    whole = dict.fromkeys(["device_id", *release.soc_keys], _whole)
    words = {
        "dsp_arch": lambda value: value in release.archs,
        "pd_session": lambda value: value in ("unsigned", "signed"),
        "profiling_level": lambda value: value == "linting",
    }
    _check("devices", entry, {**whole, **words})
    for core in entry.get("cores", []):
        _check(
            "devices/cores",
            core,
            {
                "core_id": _whole,
                "perf_profile": lambda value: (
                    value in PERF
                    or (release.number >= (2, 48) and str(value).startswith("llm_decode_"))
                ),
                "rpc_control_latency": _whole,
                "rpc_polling_time": lambda value: _whole(value) and 0 <= value <= 9999,
            },
        )
        if "custom" in core and core.get("perf_profile") != "custom":
            raise RefusedError(
                "Custom configuration of Bus and Core voltage corners requires perfProfile "
                "specification as CUSTOM"
            )


def _graph_keys(release: Release) -> dict[str, Callable[[Any], bool]]:
    keys: dict[str, Callable[[Any], bool]] = {
        "graph_names": lambda value: (
            isinstance(value, list) and all(isinstance(name, str) for name in value)
        ),
        "vtcm_mb": _whole,
        "O": lambda value: _number(value) and value in (1, 2, 3),
        "hvx_threads": _whole,
        "dlbc": _bit,
        "fp16_relaxed_precision": _bit,
        "num_cores": _whole,
        "weights_packing": _flag,
        "short_depth_conv_on_hmx_off": _flag,
        "fold_relu_activation_into_conv_off": _flag,
        "advanced_activation_fusion": _flag,
        "use_high_precision_fp16_sigmoid": _flag,
        "monolithic_lstm": _flag,
        "finalize_config": lambda value: isinstance(value, dict),
    }
    if release.number >= (2, 36):
        keys["dlbc_weights"] = _bit
    return keys


def _check(section: str, entry: Any, keys: Mapping[str, Callable[[Any], bool]]) -> None:
    if not isinstance(entry, dict):
        raise RefusedError(f"Invalid type of an entry of {section}: an object is expected")
    for key, allowed in keys.items():
        if key in entry and not allowed(entry[key]):
            raise RefusedError(f"Invalid value of {section}/{key}: {json.dumps(entry[key])}")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _bit(value: Any) -> bool:
    return value in (0, 1)


def _json(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise RefusedError(f"Unable to parse config file {path}: {problem}") from problem
    if not isinstance(config, dict):
        raise RefusedError(f"Unable to parse config file {path}: an object is expected")
    return config
