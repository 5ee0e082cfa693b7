"""Dumps with the real plugin: what each kind holds, twice the same, and nothing of this machine."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx
import pytest

from qnnbuild.engine.workers import Workers
from qnnbuild.formats.any_file import read_bytes
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.op_trace import read_op_trace
from qnnbuild.work.dump_ort import KINDS
from tests.e2e.compiling import CHIPS, WARM, compiled
from tests.models import tiny_conv, tiny_qdq, with_erf


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(warm=WARM, path=sys.path)
    yield shared
    shared.close()


@dataclass(frozen=True)
class Dumped:
    said: Mapping[str, Any]
    files: Mapping[str, bytes]


def dumped(
    workers: Workers,
    folder: Path,
    kind: str,
    model: onnx.ModelProto,
    *,
    chip: str = "SM8750",
    names: Mapping[str, str] | None = None,
    context: Path | None = None,
    **params: Any,
) -> Dumped:
    """`context` has what ships, for a schematic."""
    for name in ("in/model", "in/names", "out/dump", "tmp"):
        (folder / name).mkdir(parents=True)
    if context is not None:
        shutil.copytree(context, folder / "in/context")
    onnx.save(model, str(folder / "in/model/model.onnx"))
    (folder / "in/names/names.json").write_text(json.dumps(names or {}))
    wanted: dict[str, Any] = {
        "kind": kind, "graph": "vad", "chip": chip, "soc_model": CHIPS[chip].soc_model,
        "options": {}, "cpu_fallback": False,
    }  # fmt: skip
    workers.run(
        folder=folder,
        log=folder / "log.txt",
        deadline_s=120,
        env={"TMPDIR": "tmp"},
        call="qnnbuild.work.dump_ort:dump",
        params={**wanted, **params},
        inputs=["model", "names", *(["context"] if context else [])],
        outputs=["dump"],
    )
    made = sorted((folder / "out/dump").iterdir())
    said = json.loads((folder / "said.json").read_text())
    return Dumped(said, {path.name: path.read_bytes() for path in made})


@pytest.fixture(scope="module")
def all_kinds(workers: Workers, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Dumped]:
    folder = tmp_path_factory.mktemp("kinds")
    kinds = [kind for kind in KINDS if kind != "schematic"]
    return {kind: dumped(workers, folder / kind, kind, tiny_conv()) for kind in kinds}


def test_each_kind_ends_well(all_kinds: dict[str, Dumped]):
    assert [kind for kind, made in all_kinds.items() if "error" in made.said] == []


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"schematic"}))
def test_a_dump_is_twice_the_same_wherever_it_is_made(
    workers: Workers, tmp_path: Path, all_kinds: dict[str, Dumped], kind: str
):
    again = dumped(workers, tmp_path / "a much longer name of a folder", kind, tiny_conv())

    assert again.files == all_kinds[kind].files


def test_no_dump_names_a_folder_of_this_machine(all_kinds: dict[str, Dumped], tmp_path: Path):
    roots = (str(tmp_path.parent.parent), sys.prefix, "/proc/")
    named = [
        (name, root)
        for made in all_kinds.values()
        for name, data in made.files.items()
        for root in roots
        if root.encode() in data
    ]

    assert named == []


def test_an_op_trace_comes_as_the_plugin_wrote_it_and_in_the_users_names(
    workers: Workers, tmp_path: Path
):
    made = dumped(workers, tmp_path / "run", "op_trace", tiny_conv(), names={"conv": "stem/conv"})
    told = json.loads(made.files["op_trace.json"])

    assert read_op_trace(made.files["qnn_op_trace.json"]).soc_models == (69,)
    assert [
        (n["node"], n["operator"], [q["operator"] for q in n["qnn"]]) for n in told["nodes"]
    ] == [
        ("stem/conv", "Conv", ["Conv2d"]),
        ("relu", "Relu", ["Relu"]),
        ("flatten", "Flatten", ["Reshape"]),
        ("dense", "MatMul", ["FullyConnected"]),
    ]
    assert (told["graph"], told["chip"], told["on_cpu"]) == ("vad", "SM8750", [])


@pytest.mark.parametrize("allowed", [False, True])
def test_a_graph_that_is_refused_for_its_nodes_is_traced_all_the_same(
    workers: Workers, tmp_path: Path, allowed: bool
):
    made = dumped(workers, tmp_path / "run", "op_trace", with_erf(), cpu_fallback=allowed)
    told = json.loads(made.files["op_trace.json"])

    assert told["on_cpu"] == [
        {
            "node": "gelu/erf",
            "operator": "Erf",
            "reason": "Operators of type `Erf` are not supported by QNN EP.",
            "runtime_name": "gelu/erf",
        }
    ]


def test_quantizing_at_the_borders_is_where_the_compile_that_ships_has_it(
    workers: Workers, tmp_path: Path
):
    """With the CPU allowed the plugin leaves it there; refused, it takes all."""
    on_cpu = []
    for allowed in (False, True):
        folder = tmp_path / str(allowed)
        made = dumped(workers, folder, "op_trace", tiny_qdq(), cpu_fallback=allowed)
        told = json.loads(made.files["op_trace.json"])["on_cpu"]
        on_cpu.append(sorted(one["operator"] for one in told))

    assert on_cpu[0] == []
    assert set(on_cpu[1]) <= {"QuantizeLinear", "DequantizeLinear"}


def test_of_the_graphs_that_the_plugin_got_the_last_one_is_kept(all_kinds: dict[str, Dumped]):
    (name,) = all_kinds["input_graph"].files
    nodes = json.loads(all_kinds["input_graph"].files[name])["graph"]["nodes"]

    assert name == "small.1_qnn_ep_input_graph.json"
    assert nodes["conv_token_1"]["package"] == "com.ms.internal.nhwc"


def test_the_qnn_graph_has_the_operators_that_were_compiled(all_kinds: dict[str, Dumped]):
    graphs = [json.loads(data) for data in all_kinds["qnn_graph"].files.values()]
    nodes = [one["graph"]["nodes"] for one in graphs if "graph" in one]

    assert [sorted(node["type"] for node in graph.values()) for graph in nodes] == [
        ["Conv2d", "FullyConnected", "Relu", "Reshape", "Transpose", "Transpose"]
    ]


def test_a_dlc_is_read_back_and_has_no_time_of_day(all_kinds: dict[str, Dumped]):
    (data,) = all_kinds["dlc"].files.values()
    facts = read_bytes(memoryview(data))

    assert isinstance(facts, DlcFacts)
    assert [tensor.name for tensor in facts.graphs[0].outputs] == ["scores"]
    assert data.count(b'"timestamp": "1980-01-01 00:00:00 UTC"') == 3
    assert data.count(b'"timestamp"') == 3


def test_the_saver_keeps_calls_and_tensors(all_kinds: dict[str, Dumped]):
    files = all_kinds["saver"].files

    assert sorted(files) == ["params.bin", "saver_output.c"]
    assert files["saver_output.c"].count(b"graphCreate(") == 1
    assert len(files["params.bin"]) > 4 * 8 * 16 * 16 * 10  # the weights of the last node


def test_a_compile_that_fails_says_so_and_dumps_nothing(workers: Workers, tmp_path: Path):
    made = dumped(workers, tmp_path / "run", "op_trace", tiny_conv(), chip="SM7325")

    assert made.files == {}
    assert made.said["error"]["message"] == (
        "'vad' does not compile for SM7325: 3 nodes are refused"
    )


def test_a_schematic_is_that_of_the_binary_that_ships(workers: Workers, tmp_path: Path):
    shipped = compiled(workers, tmp_path / "context", tiny_conv()).folder / "out/context"
    made, again = (
        dumped(workers, tmp_path / name, "schematic", tiny_conv(), context=shipped)
        for name in ("one", "another folder")
    )

    assert [name.partition("_1_0_")[2] for name in made.files] == ["schematic.bin"]
    assert made.files == again.files


def test_where_optrace_makes_another_binary_that_one_comes_along(workers: Workers, tmp_path: Path):
    shipped = compiled(workers, tmp_path / "context", tiny_conv(12)).folder / "out/context"
    made = dumped(workers, tmp_path / "run", "schematic", tiny_conv(), context=shipped)

    assert [name for name in made.files if not name.endswith("schematic.bin")] == [
        "vad_ctx.onnx", "vad_ctx_qnn.bin",
    ]  # fmt: skip
    assert made.said["warnings"] == [
        [
            (
                "with optrace 'vad' becomes another binary for SM8750 than the one that ships: "
                "run the one that lies beside the schematic"
            ),
            "dumps",
        ]
    ]
