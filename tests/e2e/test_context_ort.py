"""The context action with the real plugin: what it makes, and what it refuses to let pass."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import onnx
import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.engine.workers import Workers
from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.tensor import TensorFacts
from tests.e2e.compiling import WARM, compiled
from tests.models import tiny_conv, tiny_qdq, two_branch, with_erf


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    shared = Workers(warm=WARM, path=sys.path)
    yield shared
    shared.close()


def test_a_float_graph_becomes_a_binary_that_names_its_chip(workers: Workers, tmp_path: Path):
    made = compiled(workers, tmp_path / "run", tiny_conv())

    assert made.warnings == []
    assert list(made.files) == ["vad_ctx.onnx", "vad_ctx_qnn.bin"]
    assert made.facts["chip"] == {
        "soc_model": 69, "soc_type": "SM8750", "arch": 79, "vtcm_mb": 8, "hvx_threads": 6,
    }  # fmt: skip
    assert (made.facts["ep_context_nodes"], made.facts["cpu_nodes"]) == (1, [])
    assert made.facts["inputs"] == [{"name": "x", "dtype": "float32", "shape": [1, 3, 16, 16]}]
    assert made.facts["outputs"] == [{"name": "scores", "dtype": "float32", "shape": [1, 10]}]
    assert made.facts["files"] == {
        name: {"digest": digest_bytes(data), "size": len(data)} for name, data in made.files.items()
    }


@pytest.mark.parametrize("chip", ["SM8350", "SM8450", "SM8550", "SM8650", "SM8850", "QCS6490"])
def test_a_quantized_graph_compiles_for_old_and_new_chips(
    workers: Workers, tmp_path: Path, chip: str
):
    made = compiled(workers, tmp_path / "run", tiny_qdq(), chip, precision="qdq")

    assert made.warnings == []
    assert made.facts["chip"]["soc_type"] == chip


def test_inputs_and_outputs_keep_names_and_order(workers: Workers, tmp_path: Path):
    made = compiled(workers, tmp_path / "run", two_branch())
    facts = read_any(made.folder / "out/context/vad_ctx.onnx")
    tensors = [
        TensorFacts(name=name, dtype="float32", shape=(1, 64))
        for name in ("a", "b", "sum", "product")
    ]

    assert isinstance(facts, CtxOnnxFacts)
    assert [*facts.onnx.inputs, *facts.onnx.outputs] == tensors


def test_options_reach_the_compiler_and_are_read_back(workers: Workers, tmp_path: Path):
    options = {"ort": {"vtcm_mb": 2, "htp_graph_finalization_optimization_mode": 3}}
    made = compiled(workers, tmp_path / "run", tiny_qdq(), precision="qdq", options=options)

    assert made.facts["chip"]["vtcm_mb"] == 2
    assert made.facts["settings"]["O"] == "3"
    assert made.facts["settings"]["vtcm_size"] == str(2 << 20)


def test_options_that_an_app_says_again_or_nobody_documents_give_a_whole_binary(
    workers: Workers, tmp_path: Path
):
    wanted = (
        "enable_htp_shared_memory_allocator",
        "enable_htp_graph_splitting",
        "enable_htp_fp16_clamp_overflow",
        "extended_udma",
    )
    options = {"ort": dict.fromkeys(wanted, True)}
    made = compiled(workers, tmp_path / "run", tiny_conv(), "SM8850", options=options)

    assert made.warnings == []
    assert made.facts["options"] == dict.fromkeys(wanted, "1")
    assert made.facts["outputs"] == [{"name": "scores", "dtype": "float32", "shape": [1, 10]}]


def test_the_binary_can_be_inside_the_ctx_onnx(workers: Workers, tmp_path: Path):
    made = compiled(workers, tmp_path / "run", tiny_conv(), embed=True)

    assert list(made.files) == ["vad_ctx.onnx"]
    assert made.facts["chip"]["soc_type"] == "SM8750"


def test_nodes_that_the_npu_does_not_take_are_named_and_nothing_is_made(
    workers: Workers, tmp_path: Path
):
    made = compiled(workers, tmp_path / "run", with_erf())

    assert made.ended.code == 1
    assert made.files == {}
    assert made.said["error"] == {
        "message": "'vad' does not compile for SM8750: 1 node is refused",
        "place": "graph",
        "facts": [
            ["node", "gelu/erf (Erf): Operators of type `Erf` are not supported by QNN EP."],
            [
                "the tool says",
                (
                    "This session contains graph nodes that are assigned to the default CPU EP, "
                    "but fallback to CPU EP has been explicitly disabled by the user."
                ),
            ],
        ],
        "hint": "cpu_fallback: allow, or other operators in the model",
        "exit_code": 4,
    }


def test_nodes_on_the_cpu_are_told_where_that_is_allowed(workers: Workers, tmp_path: Path):
    made = compiled(workers, tmp_path / "run", with_erf(), cpu_fallback="allow")

    told = "1 of 3 nodes, 0.00% of the multiply-adds, run on the CPU: gelu/erf (Erf)"
    assert made.warnings == [[told, "graph"]]
    assert made.facts["ep_context_nodes"] == 2
    assert made.facts["cpu_share_of_multiply_adds"] == 0.0
    assert made.facts["cpu_nodes"] == [
        {
            "node": "gelu/erf",
            "operator": "Erf",
            "reason": "Operators of type `Erf` are not supported by QNN EP.",
        }
    ]


def test_a_name_that_prepare_gave_is_told_as_the_users(workers: Workers, tmp_path: Path):
    run = tmp_path / "run"
    made = compiled(workers, run, with_erf(), names={"gelu/erf": "model/layer.0/gelu"})

    assert made.said["error"]["facts"][0][1].startswith("model/layer.0/gelu (Erf): ")


def test_a_float_graph_on_a_chip_without_fp16_is_told_by_its_nodes(
    workers: Workers, tmp_path: Path
):
    made = compiled(workers, tmp_path / "run", tiny_conv(), "SM7325")

    assert made.said["error"]["message"] == "'vad' does not compile for SM7325: 3 nodes are refused"
    assert [fact[1] for fact in made.said["error"]["facts"]][:3] == [
        f"{name}: the compiler does not take {operator} with these types and shapes (error 3110)"
        for name, operator in (
            ("conv (Conv)", "Conv2d"),
            ("relu (Relu)", "Relu"),
            ("dense (MatMul)", "FullyConnected"),
        )
    ]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"options": {"vtcm_mb": "abc"}},
            ("the compiler did not take an option: "
            "Ignoring malformed VTCM size, expecting a >0 integer."),
        ),
        (
            {"options": {"htp_graph_finalization_optimization_mode": "9"}},
            ("the compiler did not take an option: "
            "Invalid HTP graph finalization optimization mode: 9"),
        ),
        (
            {"soc_model": 9999},
            "'vad' does not compile for SM8750: the compiler does not know this chip",
        ),
        ({"soc_model": 57}, "the binary is for another chip than the one asked for"),
        ({"soc_model": 12}, "the binary is for another chip than the one asked for"),
        (
            {"options": {"extended_udma": "1"}},
            "'vad' does not compile for SM8750: the graph cannot be handed to the compiler",
        ),
    ],
)  # fmt: skip
def test_what_the_plugin_lets_pass_is_an_error(
    workers: Workers, tmp_path: Path, params: dict[str, object], message: str
):
    made = compiled(workers, tmp_path / "run", tiny_qdq(), precision="qdq", params=params)

    assert made.said["error"]["message"] == message
    assert made.files == {}


def test_a_wrong_chip_is_told_with_both_sides(workers: Workers, tmp_path: Path):
    made = compiled(workers, tmp_path / "run", tiny_qdq(), params={"soc_model": 57})

    assert made.said["error"]["exit_code"] == 5
    assert made.said["error"]["facts"] == [
        ["soc_type", "SM8650, asked for SM8750"],
        ["arch", "75, asked for 79"],
        ["hvx_threads", "4, asked for 6"],
    ]


def test_a_symbolic_dimension_makes_nothing(workers: Workers, tmp_path: Path):
    model = tiny_conv()
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    made = compiled(workers, tmp_path / "run", model)

    assert made.said["error"]["exit_code"] == 4
    assert made.files == {}


def test_a_graph_without_nodes_makes_nothing(workers: Workers, tmp_path: Path):
    model = tiny_conv()
    del model.graph.node[:]
    del model.graph.output[:]
    model.graph.output.append(model.graph.input[0])
    del model.graph.initializer[:]
    made = compiled(workers, tmp_path / "run", model, cpu_fallback="allow")

    assert made.said["error"]["exit_code"] in (4, 5)
    assert made.files == {}


def test_an_onnx_that_the_runtime_refuses_is_an_error(workers: Workers, tmp_path: Path):
    model = tiny_conv()
    model.opset_import[0].version = 99
    made = compiled(workers, tmp_path / "run", model)

    assert made.said["error"]["message"] == "'vad' does not compile for SM8750: the compiler failed"
    assert made.files == {}


def test_the_same_graph_compiles_to_the_same_bytes_in_any_folder(workers: Workers, tmp_path: Path):
    models: list[onnx.ModelProto] = [two_branch(), two_branch()]
    folders = [tmp_path / "a", tmp_path / "a rather long folder name, deeper" / "b"]
    first, second = (
        compiled(workers, folder, model).files
        for folder, model in zip(folders, models, strict=True)
    )

    assert first == second


@pytest.mark.parametrize("embed", [False, True])
def test_names_of_nodes_begin_as_the_recipe_wants_and_the_binary_stays(
    workers: Workers, tmp_path: Path, embed: bool
):
    plain = compiled(workers, tmp_path / "plain", tiny_conv(), embed=embed)
    named = compiled(
        workers, tmp_path / "named", tiny_conv(), embed=embed, params={"node_name_prefix": "vad_"}
    )
    before, after = (read_any(made.folder / "out/context/vad_ctx.onnx") for made in (plain, named))
    assert isinstance(before, CtxOnnxFacts)
    assert isinstance(after, CtxOnnxFacts)

    assert [node.name for node in after.nodes] == [f"vad_{node.name}" for node in before.nodes]
    assert [node.partition for node in after.nodes] == [node.partition for node in before.nodes]
    assert plain.files.get("vad_ctx_qnn.bin") == named.files.get("vad_ctx_qnn.bin")
