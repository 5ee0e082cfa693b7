"""qnn-context-binary-utility."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.standin.tools import context_file, elf_args
from tests.standin.tools.log import complain, say
from tests.standin.tools.meta import Meta
from tests.standin.tools.release import parts, release, switch

DATATYPES = {
    0x0232: "FLOAT_32",
    0x0216: "FLOAT_16",
    0x0408: "UFIXED_POINT_8",
    0x0416: "UFIXED_POINT_16",
    0x0008: "INT_8",
    0x0016: "INT_16",
    0x0032: "INT_32",
    0x0064: "INT_64",
    0x0108: "UINT_8",
    0x0116: "UINT_16",
    0x0132: "UINT_32",
    0x0164: "UINT_64",
    0x0508: "BOOL_8",
}
UNREADABLE = "Error: Failed to get context binary info."


def main(argv: Sequence[str], root: Path) -> int:
    version = release(root)
    given = elf_args.parse(argv, values=["context_binary", "json_file"], flags=["version", "help"])
    if "version" in given.flags:
        say(f"QNN SDK {version.build_id}")
        return 0
    if given.unused:
        say(f"Unused Arguments {' '.join(given.unused)}")
        return 1
    for name in ("context_binary", "json_file"):
        if name not in given.values:
            complain(f"Error: Missing option: --{name}")
            return 1
    binary = Path(given.values["context_binary"])
    read = context_file.read(binary)
    if read is None or parts(read[0]["sdk"]) > version.number:
        complain(UNREADABLE)
        return 1
    info = described(read[0], binary.stat().st_size)
    if switch(root, "utility_keys") == "other":
        _respell(info)
    text = json.dumps({"info": info}, indent=2)
    try:
        Path(given.values["json_file"]).write_text(text + "\n", encoding="utf-8")
    except OSError as problem:
        complain(f"Error: Failed to write {given.values['json_file']}: {problem.strerror}")
        return 1
    return 0


def described(head: Meta, size: int) -> dict[str, Any]:
    return {
        "backendId": 6,
        "buildId": head["build_id"],
        "coreApiVersion": head["core_api"],
        "backendApiVersion": head["backend_api"],
        "socVersion": "",
        "socModel": head["soc_model"],
        "hwInfoBlobVersion": "1.0.0",
        "contextBlobVersion": head["blob_version"],
        "contextBlobSize": size,
        "numContextTensors": 0,
        "contextTensors": [],
        "contextMetadata": {"info": {"dsp arch": head["arch"], "soc model": head["soc_model"]}},
        "numGraphs": len(head["graphs"]),
        "graphs": [{"info": _graph(graph, head)} for graph in head["graphs"]],
    }


def _respell(info: dict[str, Any]) -> None:
    """As consumers of other versions' files read it: what they are careful about, differs here."""
    metadata = info["contextMetadata"]["info"]
    info["contextMetadata"] = {
        "info": {"dspArch": metadata["dsp arch"], "socModel": metadata["soc model"]}
    }
    for key in ("coreApiVersion", "backendApiVersion", "contextBlobVersion"):
        numbers = [int(part) for part in info[key].split(".")]
        info[key] = dict(zip(("major", "minor", "patch"), numbers, strict=True))
    for graph in info["graphs"]:
        inner = graph["info"]
        inner["graphBlobInfo"] = [inner["graphBlobInfo"]]
        inner["graphBlobInfoV2"] = {"info": inner["graphBlobInfoV2"]}
        for tensor in [*inner["graphInputs"], *inner["graphOutputs"]]:
            tensor["info"]["currentDimensions"] = tensor["info"].pop("dimensions")


def _graph(graph: Meta, head: Meta) -> dict[str, Any]:
    meta = graph["meta"]
    inputs = [{"info": _tensor(t, at, "WRITE")} for at, t in enumerate(meta["inputs"], 1)]
    first = len(inputs) + 1
    outputs = [{"info": _tensor(t, at, "READ")} for at, t in enumerate(meta["outputs"], first)]
    size = graph["weights_size"]
    return {
        "graphName": meta["graph"],
        "numGraphInputs": len(inputs),
        "graphInputs": inputs,
        "numGraphOutputs": len(outputs),
        "graphOutputs": outputs,
        "numUpdateableTensors": 0,
        "updateableTensors": [],
        "graphBlobInfoSize": 0,
        "graphBlobInfo": {
            "info": {
                "spillFillBufferSize": 0,
                "vtcmSize": graph["vtcm_mb"],
                "optimizationLevel": graph["O"],
                "htpDlbc": graph["dlbc"],
                "numHvxThreads": graph["hvx"],
            }
        },
        "graphBlobInfoV2": {
            "ioTensorSize": 0,
            "opDataSize": 0,
            "constSize": 0 if head["share_weights"] else size,
            "ddrTensorSize": 0,
            "sharedWeightsSize": size if head["share_weights"] else 0,
        },
    }


def _tensor(tensor: Meta, number: int, way: str) -> dict[str, Any]:
    params: dict[str, Any] = {"definition": "QNN_DEFINITION_UNDEFINED"}
    if "scale" in tensor:
        params = {
            "definition": "QNN_DEFINITION_DEFINED",
            "quantizationEncoding": "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET",
            "scaleOffset": {"scale": tensor["scale"], "offset": tensor["offset"]},
        }
    return {
        "name": tensor["name"],
        "id": number,
        "type": f"QNN_TENSOR_TYPE_APP_{way}",
        "dataFormat": "QNN_TENSOR_DATA_FORMAT_FLAT_BUFFER",
        "dataType": f"QNN_DATATYPE_{DATATYPES[tensor['dtype']]}",
        "rank": len(tensor["dims"]),
        "dimensions": tensor["dims"],
        "quantizeParams": params,
    }
