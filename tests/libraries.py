"""Operators of one's own: graphs, definitions, and shared libraries made without a compiler."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import onnx
from onnx import TensorProto, helper

X86_64, ARM64, HEXAGON = 62, 183, 164
LIBRARY, PROGRAM = 3, 2
INTERFACE = "MyAddInterfaceProvider"
START = "op_pkg_init"
SHAPE = [1, 8]

DEFINITION = """\
<?xml version="1.0" encoding="UTF-8"?>
<OpDefCollection PackageName="MyAddOpPackage" Domain="example" Version="1.0">
  <OpDefList>
    <OpDef>
      <Name>MyAdd</Name>
      <Input>
        <Name>a</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype>
      </Input>
      <Input>
        <Name>b</Name><Mandatory>false</Mandatory><Datatype>QNN_DATATYPE_FLOAT_32</Datatype>
      </Input>
      <Output>
        <Name>sum</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype>
      </Output>
      <Parameter>
        <Name>scale</Name><Mandatory>false</Mandatory><Datatype>QNN_DATATYPE_FLOAT_32</Datatype>
      </Parameter>
    </OpDef>
  </OpDefList>
  <SupplementalOpDefList Backend="HTP">
    <SupplementalOpDef>
      <Name>MyAdd</Name>
      <Input><Name>a</Name><Datatype>QNN_DATATYPE_FLOAT_32</Datatype></Input>
      <Output><Name>sum</Name><Datatype>QNN_DATATYPE_FLOAT_16</Datatype></Output>
    </SupplementalOpDef>
  </SupplementalOpDefList>
</OpDefCollection>
"""


def library(
    exports: Sequence[str] = (INTERFACE, START), machine: int = X86_64, kind: int = LIBRARY
) -> bytes:
    """A whole ELF file of 64 bits with a table of symbols and no code."""
    names = b"\0.dynsym\0.dynstr\0.shstrtab\0"
    strings = b"\0" + b"".join(name.encode() + b"\0" for name in exports)
    symbols = bytes(24)
    for name in exports:
        at = strings.index(b"\0" + name.encode() + b"\0") + 1
        symbols += struct.pack("<IBBHQQ", at, 0x12, 0, 1, 0x1000, 16)  # a global function
    begin = 64
    places = [begin, begin + len(symbols), begin + len(symbols) + len(strings)]
    end = places[2] + len(names)
    sections = [
        (0, 0, 0, 0, 0, 0),
        (1, 11, places[0], len(symbols), 2, 24),
        (9, 3, places[1], len(strings), 0, 0),
        (17, 3, places[2], len(names), 0, 0),
    ]
    table = b"".join(
        struct.pack("<IIQQQQIIQQ", name, sort, 0, 0, at, size, link, 1, 1, each)
        for name, sort, at, size, link, each in sections
    )
    magic = b"\x7fELF\x02\x01\x01" + bytes(9)
    head = struct.pack("<HHIQQQIHHHHHH", kind, machine, 1, 0, 0, end, 0, 64, 56, 0, 64, 4, 3)
    return magic + head + symbols + strings + names + table


def model(
    op: str = "MyAdd",
    domain: str = "example",
    *,
    inputs: int = 2,
    shape: list[int | str] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """Relu → the user's operator → Sigmoid."""
    own = helper.make_node(
        op, ["r", "b", "b"][:inputs], ["c"], name="mine", domain=domain, **attributes
    )
    nodes = [
        helper.make_node("Relu", ["a"], ["r"], name="relu"),
        own,
        helper.make_node("Sigmoid", ["c"], ["d"], name="sigmoid"),
    ]
    info = [helper.make_tensor_value_info("c", TensorProto.FLOAT, shape or SHAPE)]
    float_ = TensorProto.FLOAT
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(name, float_, SHAPE) for name in "ab"],
        [helper.make_tensor_value_info("d", float_, SHAPE)],
        value_info=info if shape != [] else [],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(domain or "x", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9)
