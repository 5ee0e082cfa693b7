"""Whatever stands where a model should: told apart by its first bytes, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qnnbuild.formats.any_file import read_any, read_bytes
from qnnbuild.formats.format_error import FormatError
from tests.models import scale_bytes
from tests.unit.formats.samples import ONE_GRAPH, ctx_onnx, sample

WHOLE = {
    "context": sample("one_graph_sm8750.bin"),
    "two": sample("two_graphs_sm8750.bin"),
    "chips": sample("three_chips.bin"),
    "dlc": sample("quantized.dlc"),
    "onnx": scale_bytes(),
    "op_trace": sample("qnn_op_trace.json"),
    "profile": sample("profile_detailed.csv"),
    "chrome": b'[{"ph": "X", "pid": 1, "tid": 1, "name": "a", "ts": 1, "dur": 2}]',
    "ctx": ctx_onnx(binary="a_ctx_qnn.bin", partition=ONE_GRAPH),
    "embedded": ctx_onnx(binary=sample("one_graph_sm8750.bin"), partition=ONE_GRAPH),
}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("context", "context binary"),
        ("chips", "multi-chip context binary"),
        ("dlc", "DLC"),
        ("onnx", "ONNX"),
        ("op_trace", "op trace"),
        ("profile", "profile"),
        ("chrome", "Chrome trace"),
        ("ctx", "ctx.onnx"),
    ],
)
def test_the_first_bytes_tell_what_a_file_is(tmp_path: Path, name: str, kind: str):
    path = tmp_path / "file"
    path.write_bytes(WHOLE[name])

    assert read_any(path).kind == kind


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "empty"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer: git lfs pull"),
        (b"<!DOCTYPE html><html>", "a web page, not a model: the download went wrong"),
        (b"\x7fELF\x02\x01", "a program or shared library, such as a QNN model library"),
        (b"\x1c\0\0\0TFL3", "a TFLite model"),
        (b"\x1f\x8b\x08", "packed by gzip: unpack it first"),
        (bytes(100), "it begins with zeros: damaged, or never written to its end"),
        (b"hello", "not a context binary, ctx.onnx, DLC, ONNX file, op trace or profile"),
        (b"{}", "JSON, but no op trace and no Chrome trace"),
        (
            b"# python_pprint_graph_summary, truegraph = 1",
            "a schematic: qnn-profile-viewer --schematic reads it",
        ),
    ],
)
def test_strangers_are_named(tmp_path: Path, data: bytes, says: str):
    path = tmp_path / "file"
    path.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        read_any(path)

    assert str(caught.value) == says


def test_a_folder_is_refused(tmp_path: Path):
    with pytest.raises(FormatError) as caught:
        read_any(tmp_path)

    assert str(caught.value) == "a folder, not a file"


def facts_or_refusal(data: bytes) -> bool:
    """True for facts, False for a FormatError; anything else fails the test."""
    try:
        return read_bytes(memoryview(data)).size == len(data)
    except FormatError as error:
        return str(error) == ""


@given(st.binary(max_size=400), st.sampled_from(["", *WHOLE]))
def test_any_bytes_are_facts_or_a_format_error(tail: bytes, name: str):
    head = WHOLE[name][:16] if name else b""

    assert facts_or_refusal(head + tail) in (True, False)


@settings(max_examples=200)
@given(
    st.sampled_from(sorted(WHOLE)),
    st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), max_size=12),
    st.booleans(),
)
def test_damaged_bytes_are_facts_or_a_format_error(
    name: str, damage: list[tuple[int, int]], near_the_start: bool
):
    data = bytearray(WHOLE[name])
    reach = min(len(data), 1200) if near_the_start else len(data)
    for place, value in damage:
        data[place % reach] = value

    assert facts_or_refusal(bytes(data)) in (True, False)


@given(st.sampled_from(sorted(WHOLE)), st.floats(0, 1, exclude_max=True))
def test_a_cut_file_is_never_taken_for_whole(name: str, part: float):
    cut = WHOLE[name][: int(len(WHOLE[name]) * part)]

    # what ends behind a line, or a tensor, is a shorter file of the same kind
    assert not facts_or_refusal(cut) or name in ("onnx", "ctx", "embedded", "profile")
