"""A DLC for Genie, wrapped: what the node says, what ships, and which chips it is for."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import onnx
import pytest

from qnnbuild.work.made_files import GENIE, MADE
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.wrap_genie import context, wrap
from tests.working import run_work

DATA = Path(__file__).parents[1] / "formats" / "data"
BORDERS = {
    "inputs": [{"name": "input_ids", "dtype": "int32", "shape": ["batch", "tokens"]}],
    "outputs": [{"name": "logits", "dtype": "float32", "shape": ["batch", "tokens", "vocabulary"]}],
}
PC = {
    "chip": "SC8380XP",
    "soc_model": 60,
    "reads_back": {"soc_type": "SC8380XP", "arch": 73},
    "graphs": {"llm": {"graph": "llm", "load": False}},
}


def wrapped(folder: Path, override: str | None = None, data: str = "quantized.dlc") -> Run:
    (folder / "dlc").mkdir(parents=True)
    packed = (DATA / f"{data}.gz").read_bytes()
    (folder / "dlc" / MADE[GENIE]).write_bytes(gzip.decompress(packed))
    inputs = {"model": folder / "dlc"}
    if override is not None:
        (folder / "override" / "llm").mkdir(parents=True)
        (folder / "override" / "llm" / "htp.json").write_text(override)
        inputs["override"] = folder / "override"
    outputs = ("model", "names", "report")
    return run_work(wrap, folder / "wrap", params=BORDERS, inputs=inputs, outputs=outputs)


def shipped(folder: Path, **kwargs: Any) -> Run:
    made = wrapped(folder, **kwargs).outputs["model"]
    outputs = ("context", "facts")
    return run_work(
        context, folder / "context", params=PC, inputs={"model-llm": made}, outputs=outputs
    )


def test_the_node_is_what_the_exporters_write(tmp_path: Path) -> None:
    run = shipped(tmp_path)
    made = onnx.load(str(run.outputs["context"] / "llm_ctx.onnx"))
    (node,) = made.graph.node

    assert {one.name: onnx.helper.get_attribute_value(one) for one in node.attribute} == {
        "ep_context_type": b"dlc",
        "ep_dlc_context": b"llm.dlc",
        "source": b"QAIRTExport",
    }
    assert [value.name for value in (*made.graph.input, *made.graph.output)] == [
        "input_ids",
        "logits",
    ]


def test_the_override_lies_where_genie_looks_for_it(tmp_path: Path) -> None:
    run = shipped(tmp_path, override='{"backend": {}}')

    assert sorted(path.name for path in run.outputs["context"].iterdir()) == [
        "llm.dlc",
        "llm_ctx.onnx",
        "tmp_htp.json",
    ]


def test_the_facts_say_that_no_host_runs_it(tmp_path: Path) -> None:
    run = shipped(tmp_path)
    facts = json.loads((run.outputs["facts"] / "llm.json").read_text())

    assert facts["device_only"] == "Genie runs on Windows on ARM64 alone"
    assert sorted(facts["files"]) == ["llm.dlc", "llm_ctx.onnx"]


@pytest.mark.parametrize("text", ["{", "[]"])
def test_an_override_that_is_no_json_object_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        wrapped(tmp_path, override=text)

    assert caught.value.place == "genie.override"


def test_a_dlc_that_was_compiled_for_other_chips_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WorkError) as caught:
        shipped(tmp_path, data="three_chips.bin")

    assert caught.value.message == "the DLC is not for SC8380XP"
    assert caught.value.facts == (("compiled for", "SM8750, SM8650, SM8550"),)
