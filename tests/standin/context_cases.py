"""Configs that fail, and the lines of failures."""

from __future__ import annotations

from typing import Any

FAILURES = [
    (
        "context_limit_kb",
        [
            "fa_alloc.cc:2425::ERROR:graph requires estimated allocation of 10 KB, limit is 1 KB",
            "graph_prepare.cc:838::ERROR:error during serialize: memory usage too large",
            " 23631.2ms [ ERROR ] Could not get the required binary size.",
        ],
    ),
    (
        "qnn-context-binary-generator",
        [
            "     0.0ms [ ERROR ] QnnDsp <E> Failed to finalize graph (id: 1) with err 1002",
            " 23631.1ms [ ERROR ] Finalize Graph for Idx = 0 failed with error = 1002",
        ],
    ),
]
CORNERS = "Custom configuration of Bus and Core voltage corners requires perfProfile"


def graph(**keys: Any) -> dict[str, Any]:
    return {"graphs": [{"graph_names": ["m"], **keys}]}


def chip(**keys: Any) -> dict[str, Any]:
    return {"devices": [keys]}


BAD_CONFIGS = [
    (graph(O=4), "Invalid value of graphs/O: 4"),
    (graph(O="3"), 'Invalid value of graphs/O: "3"'),
    (graph(vtcm_mb="8"), 'Invalid value of graphs/vtcm_mb: "8"'),
    (graph(hvx_threads=1.5), "Invalid value of graphs/hvx_threads: 1.5"),
    (graph(dlbc=2), "Invalid value of graphs/dlbc: 2"),
    (graph(weights_packing=1), "Invalid value of graphs/weights_packing: 1"),
    ({"graphs": [{"graph_names": "m"}]}, "Invalid value of graphs/graph_names"),
    ({"graphs": {"graph_names": ["m"]}}, "Invalid type of graphs: an array is expected"),
    (chip(dsp_arch="79"), 'Invalid value of devices/dsp_arch: "79"'),
    (chip(dsp_arch="V79"), 'Invalid value of devices/dsp_arch: "V79"'),
    (chip(dsp_arch="v85"), 'Invalid value of devices/dsp_arch: "v85"'),
    (chip(soc_model="69"), 'Invalid value of devices/soc_model: "69"'),
    (chip(pd_session="none"), 'Invalid value of devices/pd_session: "none"'),
    (chip(cores=[{"perf_profile": "fast"}]), "Invalid value of devices/cores/perf_profile"),
    (chip(cores=[{"perf_profile": "llm_decode_burst"}]), "devices/cores/perf_profile"),
    (chip(cores=[{"rpc_polling_time": 10000}]), "devices/cores/rpc_polling_time: 10000"),
    (chip(cores=[{"custom": []}]), CORNERS),
    ({"context": {"weight_sharing_enabled": 1}}, "context/weight_sharing_enabled: 1"),
]
