"""What qnn-net-run left behind is counted and weighed, whatever its exit code says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.formats.context_json import BorderTensor, ReadContext, ReadGraph
from qnnbuild.work import verify_qairt
from qnnbuild.work.npz import write_npz
from qnnbuild.work.qairt_sdk import Ended
from qnnbuild.work.qairt_tensors import Border
from qnnbuild.work.run import Run, WorkError

ENDED = Ended(argv=("qnn-net-run",), env={"PATH": "/p"}, code=0, lines=("Finished",))
LOGITS = Border(
    name="/out",
    tensor=BorderTensor(name="_out", dtype="uint8", shape=(2, 3), scale=0.5, offset=-2),
    order=(1, 0),
)


def results(folder: Path, monkeypatch: pytest.MonkeyPatch, **files: bytes) -> None:
    monkeypatch.chdir(folder)
    result = folder / "results" / "Result_0"
    result.mkdir(parents=True)
    for name, data in files.items():
        (result / f"{name}.raw").write_bytes(data)


def told(number: int = 0) -> WorkError:
    with pytest.raises(WorkError) as caught:
        verify_qairt._answers(number, [LOGITS], ENDED)
    facts = dict(caught.value.facts)
    assert facts["last lines"] == "Finished"
    assert facts["by hand"].splitlines()[-1] == "PATH=/p qnn-net-run"
    assert caught.value.exit_code == 5
    return caught.value


def test_a_native_file_is_read_as_the_binary_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(tmp_path, monkeypatch, _out_native=bytes([2, 3, 4, 5, 6, 7]))

    assert verify_qairt._answers(0, [LOGITS], ENDED)["/out"].tolist() == [
        [0.0, 1.5], [0.5, 2.0], [1.0, 2.5],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "data", [bytes([2, 3, 4, 5, 6, 7]), np.arange(6, dtype="<f4").tobytes()[:24]]
)
def test_a_file_without_the_word_native_is_told_by_its_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, data: bytes
) -> None:
    results(tmp_path, monkeypatch, _out=data)

    last = verify_qairt._answers(0, [LOGITS], ENDED)["/out"][2, 1]

    assert last == (2.5 if len(data) == 6 else 5.0)


def test_a_result_that_is_not_there_is_told_with_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(tmp_path, monkeypatch)

    error = told(1)

    assert error.message == "qnn-net-run ended well and wrote no Result_1"
    assert dict(error.facts)["it wrote"] == "Result_0"


def test_an_output_that_is_not_there_is_told_with_what_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results(tmp_path, monkeypatch, other=b"")

    error = told()

    assert error.message == "qnn-net-run wrote no answer for the output '/out'"
    assert dict(error.facts)["it wrote"] == "other.raw"


def test_a_file_of_another_size_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    results(tmp_path, monkeypatch, _out_native=b"12345")

    error = told()

    assert error.message == "qnn-net-run wrote 5 bytes for the output '/out', which has 6"
    assert dict(error.facts)["binary"] == "uint8 [2, 3]"


def reference(folder: Path, **arrays: Any) -> Run:
    folder.mkdir()
    write_npz(folder / "000000.npz", {name: np.array(value) for name, value in arrays.items()})
    return Run(params={}, inputs={"reference": folder}, outputs={})


def test_what_is_lost_is_told_but_not_what_the_original_lacks_too(tmp_path: Path) -> None:
    run = reference(tmp_path / "r", y=np.array([1.0, np.inf], np.float32))

    verify_qairt._check_finite(run, 0, {"y": np.array([2.0, np.nan])}, ENDED)
    with pytest.raises(WorkError, match="1 of 2 values of the output 'y' are NaN or infinite"):
        verify_qairt._check_finite(run, 0, {"y": np.array([np.inf, 1.0])}, ENDED)


def test_answers_have_the_originals_types(tmp_path: Path) -> None:
    run = reference(tmp_path / "r", i=np.array([3], np.int64), b=np.array([True]))
    kinds = {"i": "exact", "b": "exact", "q": "quantized", "y": "float"}
    outputs: dict[str, Any] = {name: {"kind": kind} for name, kind in kinds.items()}
    outputs["q"] |= {"scale": 0.5, "zero_point": 3}
    answers: dict[str, Any] = {
        "i": np.array([3], np.int32),
        "b": np.array([1], np.uint8),
        "q": np.array([1.0], np.float32),
        "y": np.array([1.0], np.float32),
    }

    found = verify_qairt._as_asked(run, {"outputs": outputs}, answers)

    assert [found[name].dtype.name for name in "iby"] == ["int64", "bool", "float32"]
    assert found["q"].tolist() == [5.0]


def test_lines_of_the_list_name_each_input_without_a_blank(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    x = Border(name="x/y", tensor=BorderTensor(name="x_y", dtype="float32", shape=(1,)), order=(0,))
    n = Border(name="n", tensor=BorderTensor(name="n", dtype="int32", shape=(1,)), order=(0,))
    samples = [{"x/y": np.array([i], np.float32), "n": np.array([i])} for i in range(2)]

    assert verify_qairt.write_inputs(Path("samples"), samples, [x, n]) == [
        "x_y:=samples/000000-0.raw n:=samples/000000-1.raw\n",
        "x_y:=samples/000001-0.raw n:=samples/000001-1.raw\n",
    ]
    assert Path("samples/000001-1.raw").read_bytes() == b"\1\0\0\0"


def read(*graphs: str, arch: int = 79) -> ReadContext:
    plain = {"vtcm_mb": 8, "optimization": 3, "hvx_threads": 4, "spill_fill_bytes": 0}
    return ReadContext(
        build="v2.40.0",
        soc_model=69,
        arch=arch,
        core_api=None,
        backend_api=None,
        blob_version=None,
        graphs=tuple(ReadGraph(name=name, inputs=(), outputs=(), **plain) for name in graphs),
    )


def test_only_a_binary_for_the_chip_with_the_graph_alone_is_run() -> None:
    run = Run(params={"soc_model": 69, "arch": 79}, inputs={}, outputs={})

    assert verify_qairt.checked(run, read("enc"), "enc").name == "enc"
    with pytest.raises(WorkError, match="the binary is for another chip"):
        verify_qairt.checked(run, read("enc", arch=68), "enc")
    for graphs in (("dec",), ("enc", "dec"), ()):
        with pytest.raises(WorkError, match="has to hold 'enc' alone"):
            verify_qairt.checked(run, read(*graphs), "enc")


def test_a_binary_that_was_changed_since_is_told(tmp_path: Path) -> None:
    (tmp_path / "enc.json").write_text('{"files": {"enc.bin": {"digest": "1"}}}')
    (tmp_path / "enc.bin").write_bytes(b"2")
    run = Run(params={"stem": "enc"}, inputs={"facts": tmp_path}, outputs={})

    with pytest.raises(WorkError, match=r"enc\.bin is not the file that was compiled"):
        verify_qairt.facts_of(run, tmp_path / "enc.bin")
