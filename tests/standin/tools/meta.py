"""What libraries, DLCs and contexts remember of a graph. It imports nothing, as most tools need no
more of a graph: onnx and numpy would be most of a tool's time.
"""

from __future__ import annotations

from typing import Any

Meta = dict[str, Any]  # it becomes JSON
FLOAT32, FLOAT16, INT32 = 0x0232, 0x0216, 0x0032
CODES = {
    "float32": FLOAT32,
    "float64": FLOAT32,
    "float16": FLOAT16,
    "int8": 0x0008,
    "int16": 0x0016,
    "int32": INT32,
    "int64": 0x0064,
    "uint8": 0x0108,
    "uint16": 0x0116,
    "uint32": 0x0132,
    "uint64": 0x0164,
    "bool": 0x0508,
}
