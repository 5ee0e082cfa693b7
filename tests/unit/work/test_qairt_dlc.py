"""Samples and names of DLCs: what a quantizer is given, and what a compile goes by."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.formats.tensor import TensorFacts
from qnnbuild.work.dlc_files import graph_in, made_by, read, same_bytes
from qnnbuild.work.qairt_dlc import write_samples
from qnnbuild.work.qairt_dlcs import named, operators_of
from qnnbuild.work.run import Run, WorkError
from tests.unit.formats.samples import ONE_GRAPH, sample


def tensor(name: str, dtype: str, *shape: int) -> TensorFacts:
    return TensorFacts(name=name, dtype=dtype, shape=shape)


@pytest.fixture
def feeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "feeds"
    folder.mkdir()
    for number in range(2):
        x = np.arange(6, dtype=np.float32).reshape(1, 2, 3) + number
        arrays: dict[str, Any] = {"x.1": x, "ids": np.array([number, 7], np.int64)}
        np.savez(folder / f"{number}.npz", **arrays)
    return folder


def test_samples_are_in_the_dlcs_types_and_named_as_it_names_them(feeds: Path) -> None:
    inputs = [tensor("ids", "int32", 2), tensor("x_1", "float32", 1, 2, 3)]

    assert write_samples(feeds, inputs) == 2

    assert Path("input_list.txt").read_bytes() == (
        b"ids:=samples/000000-0.raw x_1:=samples/000000-1.raw\n"
        b"ids:=samples/000001-0.raw x_1:=samples/000001-1.raw\n"
    )
    assert Path("samples/000001-0.raw").read_bytes() == np.array([1, 7], "<i4").tobytes()
    assert np.fromfile("samples/000000-1.raw", "<f4").tolist() == [0, 1, 2, 3, 4, 5]


def test_a_single_input_needs_no_name(feeds: Path) -> None:
    write_samples(feeds, [tensor("x.1", "float16", 1, 2, 3)])

    assert Path("input_list.txt").read_text() == "samples/000000-0.raw\nsamples/000001-0.raw\n"
    assert Path("samples/000000-0.raw").stat().st_size == 12


def test_a_dlc_that_cannot_be_read_gets_the_samples_as_they_are(feeds: Path) -> None:
    write_samples(feeds, None)

    first = Path("input_list.txt").read_text().splitlines()[0]
    assert first == "x.1:=samples/000000-0.raw ids:=samples/000000-1.raw"
    assert Path("samples/000000-1.raw").stat().st_size == 16


def test_what_does_not_fit_is_told(feeds: Path) -> None:
    np.savez(feeds / "0.npz", ids=np.array([1 << 40, 0], np.int64))
    with pytest.raises(WorkError, match="does not fit into int32"):
        write_samples(feeds, [tensor("ids", "int32", 2)])
    with pytest.raises(WorkError, match="has other sizes than the DLC"):
        write_samples(feeds, [tensor("ids", "int64", 1, 2)])


# --- names ------------------------------------------------------------------------------------


def run_of(folder: Path, **member: Any) -> Run:
    (folder / "model").mkdir(exist_ok=True)
    (folder / "model" / "enc.dlc").write_bytes(sample("quantized.dlc"))
    graphs = [{"graph_names": ["enc"], "O": 3}]
    return Run(
        params={
            "dlc": True,
            "members": [{"stem": "enc", "graph": "enc", **member}],
            "htp": {"graphs": graphs, "devices": []},
            "extensions": {"graph_configs": [{"graph_name": "enc", "graph_priority": "high"}]},
        },
        inputs={"model": folder / "model"},
        outputs={},
    )


def test_settings_go_by_the_name_that_the_plugin_gave_its_graph(tmp_path: Path) -> None:
    alone = {"htp": {"graphs": [{"graph_names": ["enc"]}]}}
    run = named(run_of(tmp_path, named_by_dlc=True, alone=alone), "2.51.0")

    (member,) = run.params["members"]
    assert member["graph"] == ONE_GRAPH
    assert member["alone"]["htp"]["graphs"] == [{"graph_names": [ONE_GRAPH]}]
    assert run.params["htp"]["graphs"] == [{"graph_names": [ONE_GRAPH], "O": 3}]
    assert run.params["extensions"]["graph_configs"] == [
        {"graph_name": ONE_GRAPH, "graph_priority": "high"}
    ]
    assert run.warnings == []
    assert operators_of(run, "enc") == 6


def test_a_dlc_newer_than_the_sdk_is_tried_with_a_warning(tmp_path: Path) -> None:
    run = named(run_of(tmp_path, named_by_dlc=True), "2.49.0")

    (warning,) = run.warnings
    assert warning.message == (
        "the DLC of 'enc' was written by QNN 2.51.0.260929181845, which is newer than the SDK, "
        "2.49.0: it may be refused"
    )


def test_a_name_that_was_foreseen_is_kept_to(tmp_path: Path) -> None:
    with pytest.raises(WorkError, match=f"the graph in the DLC is called '{ONE_GRAPH}', not 'enc'"):
        named(run_of(tmp_path), "2.51.0")


def test_a_run_without_dlcs_is_as_it_was(tmp_path: Path) -> None:
    run = Run(params={"members": []}, inputs={}, outputs={})
    assert named(run, "2.40") is run


def test_a_dlc_of_another_form_has_no_graph_that_is_known(tmp_path: Path) -> None:
    path = tmp_path / "a.dlc"
    path.write_bytes(sample("quantized.dlc").replace(b"NETD", b"NETX"))

    same_bytes(path)

    assert graph_in(path) is None
    assert made_by(read(path)) == "2.51.0.260929181845"
    assert b"1980-01-01 00:00:00 UTC" in path.read_bytes()
