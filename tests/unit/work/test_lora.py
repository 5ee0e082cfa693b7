"""Adapters of a compiled graph in its bundle."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qnnbuild.model.recipe import FileSource, Graph, Lora, Wrapped
from qnnbuild.steps.lora import adapter_files, adapters, usual_adapter
from qnnbuild.work.lora import take_adapters, told_of
from qnnbuild.work.run import Run, WorkError

GRAPH = Graph(
    name="net",
    source=FileSource(file="net.bin"),
    precision="compiled",
    wrapped=Wrapped(graph="net_128"),
    lora=Lora(adapters={"french": "lora/fr.bin", "german": "lora/de.bin"}, default="german"),
)


def given(folder: Path, **files: bytes) -> Run:
    (folder / "in/lora").mkdir(parents=True)
    (folder / "out").mkdir()
    for name, data in files.items():
        (folder / "in/lora" / f"{name}.bin").write_bytes(data)
    params: dict[str, Any] = {"graphs": {"net": adapters(GRAPH, "net")}}
    return Run(params=params, inputs={"lora-net": folder / "in"}, outputs={})


def test_each_adapter_has_its_section_and_a_text_that_names_it(tmp_path: Path) -> None:
    names = take_adapters(given(tmp_path, fr=b"f", de=b"d"), "net", tmp_path / "out")

    assert names == (
        "net_lora_french.bin",
        "net_lora_french.txt",
        "net_lora_german.bin",
        "net_lora_german.txt",
    )
    assert (tmp_path / "out/net_lora_french.bin").read_bytes() == b"f"
    assert (tmp_path / "out/net_lora_french.txt").read_text() == "net_128;net_lora_french.bin\n"


def test_an_empty_section_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        take_adapters(given(tmp_path, fr=b"", de=b"d"), "net", tmp_path / "out")

    assert caught.value.message == "the adapter 'french' is an empty file"


def test_the_files_are_inputs_and_the_usual_one_is_a_run_option() -> None:
    files = adapter_files(GRAPH)
    assert files is not None

    assert files.patterns == ("lora/fr.bin", "lora/de.bin")
    assert dict(usual_adapter(GRAPH, "net")) == {"qnn.lora_config": "net_lora_german.txt"}


def test_the_manifest_tells_nothing_of_where_they_are_from() -> None:
    assert told_of(adapters(GRAPH, "net")) == {
        "lora": {
            "default": "german",
            "adapters": {
                "french": {"file": "net_lora_french.bin", "config": "net_lora_french.txt"},
                "german": {"file": "net_lora_german.bin", "config": "net_lora_german.txt"},
            },
        }
    }


def test_a_graph_without_adapters_says_nothing_of_them() -> None:
    plain = Graph(name="net", source=FileSource(file="net.onnx"))

    assert (adapter_files(plain), adapters(plain, "net"), told_of({})) == (None, {}, {})
