"""qnnbuild inspect: what people read, what programs read, and the exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from qnnbuild.commands.inspect import inspect, size_text
from tests.models import scale_bytes, write_with_side_file
from tests.unit.formats.samples import ONE_GRAPH, ctx_onnx, sample


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_ctx_onnx_is_shown_with_its_binary(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("a_ctx.onnx").write_bytes(ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH))
    Path("a_ctx_qnn.bin").write_bytes(sample("one_graph_sm8750.bin"))
    code = inspect([Path("a_ctx.onnx")])

    assert code == 0
    assert capsys.readouterr().out == (
        "a_ctx.onnx: ctx.onnx, 618 bytes\n"
        "  soc_model   69\n"
        f"  EPContext   {ONE_GRAPH}, in a_ctx_qnn.bin\n"
        "  input       x   uint8    1×3×16×16\n"
        "  input       x2  uint8    1×8×16×16\n"
        "  output      y   uint8    1×8×16×16\n"
        "  output      y2  uint8    1×8×16×16\n"
        "  a_ctx_qnn.bin: context binary, 56 KB\n"
        "    chip        SM8750 (soc_model 69), HTP v79, 8 MB VTCM, 6 HVX threads\n"
        "    made by     QAIRT v2.51.0.260929181845, O=2\n"
        f"    graph       {ONE_GRAPH}\n"
        "    input       x   uint8    1×3×16×16  scale 0.02, zero point 128\n"
        "    input       x2  uint8    1×8×16×16  scale 0.1, zero point 120\n"
        "    output      y   uint8    1×8×16×16  scale 0.1, zero point 120\n"
        "    output      y2  uint8    1×8×16×16  scale 0.1, zero point 120\n"
    )


def test_an_onnx_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("m.onnx").write_bytes(scale_bytes())
    code = inspect([Path("m.onnx")])

    assert code == 0
    assert capsys.readouterr().out == (
        "m.onnx: ONNX, 121 bytes\n"
        "  opset       ai.onnx 17; IR 9\n"
        "  weights     4 numbers\n"
        "  operators   Mul 1\n"
        "  input       x  float32  1×4\n"
        "  output      y  float32  1×4\n"
    )


def test_json_has_all_facts_of_all_files(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("a.bin").write_bytes(sample("one_graph_sm8750.bin"))
    code = inspect([Path("a.bin"), Path("b.bin")], as_json=True)
    first, second = json.loads(capsys.readouterr().out)

    assert code == 3
    assert (first["path"], first["kind"], first["arch"]) == ("a.bin", "context binary", 79)
    assert second == {"path": "b.bin", "error": "no such file"}


def test_a_missing_file_is_nothing_that_matches(folder: Path, capsys: pytest.CaptureFixture[str]):
    code = inspect([Path("nothing.bin")])

    assert (code, capsys.readouterr().err) == (3, "error: nothing.bin: no such file\n")


def test_a_cut_binary_beside_a_ctx_onnx_is_not_good(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    Path("a_ctx.onnx").write_bytes(ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH))
    Path("a_ctx_qnn.bin").write_bytes(sample("one_graph_sm8750.bin")[:1000])
    code = inspect([Path("a_ctx.onnx")])

    assert code == 5
    assert capsys.readouterr().err == (
        "error: a_ctx_qnn.bin: cut short: the header promises 57344 bytes, the file has 1000\n"
    )


def test_another_models_binary_is_not_good(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("a_ctx.onnx").write_bytes(ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH))
    Path("a_ctx_qnn.bin").write_bytes(sample("two_graphs_sm8750.bin"))
    code = inspect([Path("a_ctx.onnx")])

    assert code == 5
    assert capsys.readouterr().err == (
        f"error: a_ctx_qnn.bin: a_ctx.onnx wants the graph '{ONE_GRAPH}', which is not in it\n"
    )


def test_a_binary_outside_of_the_folder_is_not_followed(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    Path("a_ctx.onnx").write_bytes(ctx_onnx(binary="../b.bin", partition=ONE_GRAPH))
    code = inspect([Path("a_ctx.onnx")])

    assert code == 5
    assert capsys.readouterr().err == (
        "error: ../b.bin: a_ctx.onnx names a binary outside of its folder\n"
    )


def test_a_cut_side_file_is_told(folder: Path, capsys: pytest.CaptureFixture[str]):
    write_with_side_file(folder)
    Path("m.data").write_bytes(bytes(100))
    code = inspect([Path("m.onnx")])

    assert code == 5
    assert capsys.readouterr().err == (
        "error: m.onnx: its side file 'm.data' is cut short: 100 bytes of at least 256\n"
    )


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 byte"), (1000, "1000 bytes"), (1536, "1.5 KB"), (57344, "56 KB"), (5 << 30, "5.0 GB")],
)
def test_a_size_is_written_for_people(size: int, text: str):
    assert size_text(size) == text


def test_a_profile_is_shown_by_the_models_own_nodes(
    folder: Path, capsys: pytest.CaptureFixture[str]
):
    Path("p.csv").write_bytes(sample("profile_detailed.csv"))
    made = [{"name": "div_2", "operator": "Gelu"}]
    nodes = [{"node": f"/gelu/{name}", "qnn": made} for name in ("Div", "Erf")]
    Path("op_trace.json").write_text(json.dumps({"nodes": nodes}))
    code = inspect([Path("p.csv")])

    assert code == 0
    assert capsys.readouterr().out == (
        "p.csv: profile, 2.2 KB\n"
        "  runs        2\n"
        "  whole       Accelerator (load binary) time: 579 us\n"
        "  whole       QNN (load binary) time: 20,550 us\n"
        "  whole       Number of HVX threads used: 0\n"
        "  whole       Num times yield occured: 0\n"
        "  whole       Time for initial VTCM acquire: 4,539 us (from 1,363 to 7,715)\n"
        "  whole       Time for HVX + HMX power on and acquire: "
        "224,280 us (from 168,225 to 280,336)\n"
        "  whole       Accelerator (execute) time (cycles): "
        "53,184,183 cycles (from 49,554,293 to 56,814,073)\n"
        "  whole       Accelerator (execute) time: 348,364 us (from 255,275 to 441,454)\n"
        "  whole       QNN (execute) time: 348,492 us (from 255,431 to 441,554)\n"
        "  layer        78.9%  41,946,104 cycles  div_2         /gelu/Div + /gelu/Erf\n"
        "  layer        20.9%  11,111,358 cycles  mean          mean\n"
        "  layer         0.1%      62,536 cycles  Transpose     Transpose\n"
        "  layer         0.1%      51,556 cycles  relu          relu\n"
        "  layer         0.0%       5,449 cycles  mm            mm\n"
        "  layer         0.0%       5,395 cycles  Output\n"
        "  layer         0.0%       1,784 cycles  Input\n"
        "  layer         0.0%           0 cycles  conv_token_1  conv_token_1\n"
    )


def test_an_op_trace_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("qnn_op_trace.json").write_bytes(sample("qnn_op_trace.json"))
    code = inspect([Path("qnn_op_trace.json")])

    assert code == 0
    assert capsys.readouterr().out == (
        "qnn_op_trace.json: op trace, 4.8 KB\n"
        "  soc_model   69\n"
        "  operators   Transpose 1, Conv2d 1, Relu 1, Gelu 1, ReduceMean 1, FullyConnected 1\n"
        "  fusion      GeluFusion: div + erf + add + mul + mul2 → Gelu\n"
        "  on the CPU  on_cpu (Erf): Operators of type `Erf` are not supported by QNN EP.\n"
    )


def test_rows_of_a_profile_are_data_too(folder: Path, capsys: pytest.CaptureFixture[str]):
    Path("p.csv").write_bytes(sample("profile_detailed.csv"))
    inspect([Path("p.csv")], as_json=True)
    (found,) = json.loads(capsys.readouterr().out)

    assert found["rows"][0]["nodes"] == ["div", "erf", "add", "mul", "mul2"]
    assert found["kind"] == "profile"


def test_a_chrome_trace_is_shown(folder: Path, capsys: pytest.CaptureFixture[str]):
    args = {"QNN Op Name": "conv", "Dominant Path Cycles": 40}
    event = {"ph": "X", "pid": 0, "tid": 256, "name": "q::Conv", "ts": 5, "dur": 50, "args": args}
    Path("optrace.json").write_text(json.dumps({"traceEvents": [event]}))
    inspect([Path("optrace.json")])

    assert capsys.readouterr().out == (
        "optrace.json: Chrome trace, 152 bytes\n"
        "  whole       50 cycles from the first start to the last end\n"
        "  thread      thread 256: 50 cycles\n"
        "  layer       100.0%  40 cycles  conv\n"
        "  note        with op_trace.json beside it the nodes of the model are told too\n"
    )
