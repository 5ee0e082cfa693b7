"""What the converter writes: the source, the tar of weights, and the graph as JSON."""

from __future__ import annotations

import base64
import json
from collections import Counter
from pathlib import Path
from typing import Any

from tests.standin.tools.meta import Meta
from tests.standin.tools.release import Release

MARK = "QNNSTANDIN-GRAPH:"
NO_ENCODING = 2147483647

SOURCE = """\
/* COPYRIGHT HEADER GOES HERE: No CopyRight Header String Passed During Model Conversion */

/* Command Line used:
{command}
*/

#include "QnnOpDef.h"
#include "QnnModel.hpp"

// Flag to determine if Backend should do node validation for each opNode added
#define DO_GRAPH_NODE_VALIDATIONS 1

using namespace qnn_wrapper_api;
static const __attribute__((used)) char QNN_STANDIN_GRAPH[] =
{graph};
extern "C" {{
__attribute__((visibility("default"))) const char* QNN_SDK_VERSION = "{qaisw}";
{nodes}
QNN_API
ModelError_t {prefix}_composeGraphs(Qnn_BackendHandle_t backendHandle,
                                    const char* graphName,
                                    QnnModel& model) {{
  VALIDATE(model.initialize(backendHandle, "{name}", DO_GRAPH_NODE_VALIDATIONS));
{adds}
  return model.compose(graphName, QNN_STANDIN_GRAPH);
}}

QNN_API
ModelError_t {prefix}_freeGraphsInfo(QnnModel& model) {{ return model.free(); }}
}}
"""


def source(meta: Meta, command: str, release: Release) -> str:
    text = MARK + base64.b64encode(json.dumps(meta, sort_keys=True).encode()).decode()
    rows = [text[at : at + 120] for at in range(0, len(text), 120)]
    names = [f"addNode_{at}" for at in range(len(meta["nodes"]))]
    nodes = "\n".join(
        f"static ModelError_t {name}(QnnModel& model) {{\n"
        f'  return model.addNode("{node["name"]}", "{node["package"]}", "{node["type"]}");\n}}'
        for name, node in zip(names, meta["nodes"], strict=True)
    )
    return SOURCE.format(
        command=command.replace("*/", "* /"),
        graph="\n".join(f'    "{row}"' for row in rows),
        qaisw=release.qaisw,
        nodes=nodes,
        prefix=meta["prefix"],
        name=meta["graph"],
        adds="\n".join(f"  VALIDATE({name}(model));" for name in names),
    )


def net_json(
    meta: Meta, command: str, release: Release, cpp: Path, binary: Path | None
) -> dict[str, Any]:
    tensors: dict[str, Any] = {}
    kinds = [(0, "inputs"), (1, "outputs"), (4, "statics")]
    for kind, place in kinds:
        for tensor in meta[place]:
            tensors[tensor["name"]] = _tensor(tensor, kind, len(tensors))
    total = sum(tensor["count"] for tensor in meta["statics"])
    return {
        "model.cpp": str(cpp),
        "model.bin": str(binary) if binary else "NA",
        release.command_key: command,
        "copyright_str": "",
        "op_types": sorted(Counter(node["type"] for node in meta["nodes"])),
        "Total parameters": f"{total} ({total * 4 >> 20} MB assuming single precision float)",
        "Total MACs per inference": "0 (0M)",
        "graph": {"tensors": tensors, "nodes": {n["name"]: _node(n) for n in meta["nodes"]}},
    }


def _tensor(tensor: Meta, kind: int, number: int) -> dict[str, Any]:
    quant: dict[str, Any] = {"definition": NO_ENCODING, "encoding": NO_ENCODING}
    if "scale" in tensor:
        low = tensor["offset"] * tensor["scale"]
        quant = {
            "definition": 1,
            "encoding": 0,
            "is_overridden": tensor.get("overridden", False),
            "scale_offset": {
                "bitwidth": tensor["bits"],
                "minimum": low,
                "maximum": low + tensor["scale"] * (2 ** tensor["bits"] - 1),
                "scale": tensor["scale"],
                "offset": tensor["offset"],
                "is_symmetric": False,
                "is_fixed_point": True,
            },
        }
    order = tensor["order"]
    return {
        "id": number,
        "type": kind,
        "dataFormat": 0,
        "data_type": tensor["dtype"],
        "unquantized_data_type": 0x0232 if "scale" in tensor else tensor["dtype"],
        "permute_order_to_src": sorted(range(len(order)), key=lambda at: order[at]),
        "quant_params": quant,
        "dims": tensor["dims"],
        "is_dynamic_dims": [0] * len(tensor["dims"]),
        "is_quantizable": True,
        "is_updateable": False,
        "params_count": tensor.get("count", 0),
    }


def _node(node: Meta) -> dict[str, Any]:
    return {
        "package": node["package"],
        "type": node["type"],
        "tensor_params": {},
        "scalar_params": {},
        "input_names": node["inputs"],
        "output_names": node["outputs"],
        "macs_per_inference": "",
    }
