"""What compilers and converters write, and what describes operators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from fuzz.target import CASES, DEEP


def _sample(*names: str) -> Callable[[], Iterator[bytes]]:
    def seeds() -> Iterator[bytes]:
        from tests.unit.formats.samples import sample

        for name in names:
            yield sample(name)

    return seeds


def _context(data: bytes) -> object:
    from qnnbuild.formats.context_binary import read_context_binary

    return read_context_binary(memoryview(data))


def _dlc(data: bytes) -> object:
    from qnnbuild.formats.dlc import read_dlc

    return read_dlc(memoryview(data))


def _multi_chip(data: bytes) -> object:
    from qnnbuild.formats.multi_chip import dates, read_multi_chip, stripped

    view = memoryview(data)
    read = read_multi_chip(view)
    list(dates(view))
    return b"".join(stripped(view, {read.chips[0].soc_model})) if read.chips else None


def _ctx_onnx(data: bytes) -> object:
    from qnnbuild.formats.ctx_onnx import as_ctx_onnx

    return as_ctx_onnx(memoryview(data))


def _ctx_seeds() -> Iterator[bytes]:
    from tests.unit.formats.samples import ONE_GRAPH, ctx_onnx, sample

    yield ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH)
    yield ctx_onnx(binary=sample("one_graph_sm8750.bin"), partition=ONE_GRAPH)
    yield from onnx_seeds()


def onnx_seeds() -> Iterator[bytes]:
    for path in sorted(CASES.rglob("*.onnx")):
        if path.is_file() and path.stat().st_size < 1 << 16:
            yield path.read_bytes()


def _any(data: bytes) -> object:
    """What `qnnbuild inspect` is given, up to the words that it prints."""
    from qnnbuild.formats.any_file import read_bytes

    return read_bytes(memoryview(data)) if data else None


def _any_seeds() -> Iterator[bytes]:
    yield from _ctx_seeds()
    samples = ("one_graph_sm8750.bin", "quantized.dlc", "qnn_op_trace.json", "profile_basic.csv")
    yield from _sample(*samples)()
    yield from _chrome_seeds()


def _op_trace(data: bytes) -> object:
    from qnnbuild.formats.op_trace import read_op_trace

    return read_op_trace(data)


def _chrome(data: bytes) -> object:
    from qnnbuild.formats.chrome_trace import read_chrome_trace

    return read_chrome_trace(data)


def _chrome_seeds() -> Iterator[bytes]:
    yield b'[{"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 1, "dur": 2, "args": {}}]'
    yield b'{"traceEvents": [{"ph": "M", "name": "thread_name", "args": {"name": "t"}}]}'
    yield from DEEP


def _profile(data: bytes) -> object:
    from qnnbuild.formats.profile_csv import read_profile

    return read_profile(data)


def _context_json(data: bytes) -> object:
    from qnnbuild.formats.context_json import read_context_json

    return read_context_json(data.decode("utf-8", "replace"))


def _context_json_seeds() -> Iterator[bytes]:
    yield (
        b'{"info": {"buildId": "v2.40", "contextMetadata": {"info": {"dspArch": 79}}, "graphs": '
        b'[{"info": {"graphName": "g", "graphInputs": [{"info": {"name": "x", "dataType": '
        b'"QNN_DATATYPE_FLOAT_32", "dimensions": [1, 2], "quantizeParams": {"scaleOffset": '
        b'{"scale": 1.0, "offset": 0}}}}], "graphOutputs": []}}]}}'
    )
    yield from DEEP


def _elf(data: bytes) -> object:
    from qnnbuild.formats.elf_file import read_elf

    return read_elf(data)


def _elf_pages(data: bytes) -> object:
    from qnnbuild.formats.elf_pages import page_bytes

    return page_bytes(data)


def _elf_seeds() -> Iterator[bytes]:
    import _ctypes

    yield Path(_ctypes.__file__).read_bytes()[: 1 << 18]
    yield b"\x7fELF\x02\x01\x01" + bytes(57)
    yield b"\x7fELF\x01\x02\x01" + bytes(45)


def _op_definition(data: bytes) -> object:
    from qnnbuild.formats.op_definition import read_op_definitions

    return read_op_definitions(data)


def _xml_seeds() -> Iterator[bytes]:
    yield (
        b'<OpDefCollection PackageName="P" Domain="d"><OpDefList><OpDef><Name>A</Name><Input>'
        b"<Name>x</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype></Input>"
        b'</OpDef></OpDefList><SupplementalOpDefList Backend="HTP"><SupplementalOpDef><Name>A'
        b"</Name><Input><Name>x</Name><Datatype>QNN_DATATYPE_FLOAT_32</Datatype></Input>"
        b"</SupplementalOpDef></SupplementalOpDefList></OpDefCollection>"
    )
    yield b"<a>" * 5_000


def _input_list(data: bytes) -> object:
    from qnnbuild.formats.input_list import beside, read_input_list

    lines = read_input_list(data)
    return [beside("a/l.txt", path, line.number) for line in lines for _, path in line.files]


def _list_seeds() -> Iterator[bytes]:
    yield b"# c\nx:=a.raw y:=b/c.raw\n"
    yield b"a b\n"


def _parts(data: bytes) -> object:
    from qnnbuild.formats.onnx_parts import count_parts

    return count_parts(memoryview(data))


FORMATS = {
    "onnx-parts": (_parts, onnx_seeds),
    "context-binary": (_context, _sample("one_graph_sm8750.bin", "two_graphs_sm8750.bin")),
    "dlc": (_dlc, _sample("quantized.dlc", "three_chips.bin")),
    "multi-chip": (_multi_chip, _sample("three_chips.bin")),
    "ctx-onnx": (_ctx_onnx, _ctx_seeds),
    "any-file": (_any, _any_seeds),
    "op-trace": (_op_trace, _sample("qnn_op_trace.json")),
    "chrome-trace": (_chrome, _chrome_seeds),
    "profile": (_profile, _sample("profile_basic.csv", "profile_detailed.csv")),
    "context-json": (_context_json, _context_json_seeds),
    "elf": (_elf, _elf_seeds),
    "elf-pages": (_elf_pages, _elf_seeds),
    "op-definition": (_op_definition, _xml_seeds),
    "input-list": (_input_list, _list_seeds),
}
