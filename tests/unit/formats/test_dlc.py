"""DLCs and multi-chip binaries: ZIPs whose CRC fields are not valid."""

from __future__ import annotations

import io
import zipfile

import pytest

from qnnbuild.formats.dlc import read_dlc
from qnnbuild.formats.format_error import FormatError
from tests.unit.formats.samples import ONE_GRAPH, sample


def zipped(members: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> memoryview:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return memoryview(file.getvalue())


def test_a_multi_chip_binary_tells_each_chip():
    facts = read_dlc(memoryview(sample("three_chips.bin")))

    assert facts.kind == "multi-chip context binary"
    assert [(c.record, c.soc_type, c.soc_model, c.arch, c.vtcm_mb) for c in facts.contexts] == [
        ("htp.cache.sm8750.0", "SM8750", 69, 79, 8),
        ("htp.cache.sm8650.0", "SM8650", 57, 75, 8),
        ("htp.cache.sm8550.0", "SM8550", 43, 73, 8),
    ]
    assert [(r.name.partition("<")[0], r.size) for r in facts.records] == [
        ("htp.shared.weights.", 139264),
        ("htp.metadata.shared_weights.", 464),
        ("htp.cache.sm8750.0", 40960),
        ("htp.cache.sm8650.0", 40960),
        ("htp.cache.sm8550.0", 40960),
        ("dlc.metadata2.3.0", 17453),
    ]


def test_a_dlc_tells_its_graph_and_what_wrote_it():
    facts = read_dlc(memoryview(sample("quantized.dlc")))

    assert facts.kind == "DLC"
    assert facts.converter == "qnn-net-run 2.51.0.260929181845"
    assert [graph.name for graph in facts.graphs] == [ONE_GRAPH]
    assert facts.graphs[0].operators == (("Transpose", 4), ("Conv2d", 1), ("Eltwise_Binary", 1))
    assert {(t.name, t.dtype, t.shape) for t in facts.graphs[0].inputs} == {
        ("x", "uint8", (1, 3, 16, 16)),
        ("x2", "uint8", (1, 8, 16, 16)),
    }
    assert {t.name for t in facts.graphs[0].outputs} == {"y", "y2"}


def test_packed_records_are_unpacked():
    binary = sample("one_graph_sm8750.bin")
    facts = read_dlc(zipped({"htp.cache.sm8750.0": binary}, zipfile.ZIP_DEFLATED))

    assert [context.soc_type for context in facts.contexts] == ["SM8750"]


def test_any_other_zip_is_refused():
    with pytest.raises(FormatError) as caught:
        read_dlc(zipped({"x.npy": b"\x93NUMPY"}))

    assert str(caught.value) == "a ZIP, but not a DLC: none of its records is one that a DLC has"


def test_a_dlc_without_its_end_is_refused():
    with pytest.raises(FormatError) as caught:
        read_dlc(memoryview(sample("quantized.dlc")[:-200]))

    assert str(caught.value) == "cut short: a ZIP without its directory"


def test_a_damaged_context_is_refused_by_its_record():
    binary = sample("one_graph_sm8750.bin")[:40000]
    with pytest.raises(FormatError) as caught:
        read_dlc(zipped({"htp.cache.sm8750.0": binary}))

    assert str(caught.value) == (
        "'htp.cache.sm8750.0': cut short: the header promises 57344 bytes, the file has 40000"
    )


def test_a_model_record_of_another_version_is_noted():
    facts = read_dlc(zipped({"model": b"no flatbuffer at all", "dlc.metadata": b"{}"}))

    assert facts.graphs == ()
    assert facts.notes == ("its 'model' record is of an unknown version",)
