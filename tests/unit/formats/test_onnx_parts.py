"""Files with a million of anything: counted on the wire and refused, whatever memory there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.actions.action import Action, SourceOnnx
from qnnbuild.engine.inputs import Inputs
from qnnbuild.engine.records import Records
from qnnbuild.engine.stats import Stats
from qnnbuild.errors import RecipeError, Span
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_parts import MOST, TooMany, count_parts
from qnnbuild.importing.onnx_look import look
from qnnbuild.importing.sizes import Sizes
from qnnbuild.work.onnx_parts import check_parts
from qnnbuild.work.run import WorkError
from tests.models import tiny_conv

AT = Span(file="recipes/m.yaml", line=3, column=1)


def field(number: int, value: bytes = b"") -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    low = value & 0x7F
    return bytes([low]) if value < 0x80 else bytes([low | 0x80]) + _varint(value >> 7)


def graph_of(**parts: int) -> bytes:
    """An IR version, and a graph with so many of each."""
    numbers = {"nodes": 1, "weights": 5, "inputs": 11, "outputs": 12, "values": 13}
    return b"\x08\x08" + field(7, b"".join(field(numbers[n]) * m for n, m in parts.items()))


def branch(inner: bytes, times: int = 1) -> bytes:
    """A node with `times` graphs in it."""
    return field(1, field(5, field(6, inner)) * times)


def nested(depth: int) -> bytes:
    return branch(nested(depth - 1)) if depth else b""


MILLION = 1_000_000
TOO_MANY = {
    "nodes": (graph_of(nodes=MILLION), "nodes"),
    "weights": (graph_of(weights=MILLION), "weights"),
    "inputs": (graph_of(inputs=MILLION), "inputs and outputs"),
    "outputs": (graph_of(outputs=MILLION), "inputs and outputs"),
    "values": (graph_of(values=MILLION), "facts beside the graph"),
    "metadata": (field(14) * MILLION, "facts beside the graph"),
    "opsets": (field(8) * MILLION, "facts beside the graph"),
    "nodes of a function": (field(25, field(7) * MILLION), "nodes"),
    "nodes of a branch": (field(7, branch(field(1) * MILLION)), "nodes"),
    "branches side by side": (field(7, branch(b"") * 5_000), "graphs in nodes"),
    "branches of one node": (field(7, branch(b"", 5_000)), "graphs in nodes"),
    "branches in branches": (field(7, branch(nested(20), 200)), "graphs in nodes"),
    "inputs of one node": (field(7, field(1, field(1, b"x") * MILLION)), "inputs of a node"),
}


@pytest.mark.parametrize("what", TOO_MANY)
def test_more_of_anything_than_a_model_has_ends_the_count(what: str) -> None:
    data, told = TOO_MANY[what]
    with pytest.raises(TooMany) as caught:
        count_parts(memoryview(data))

    assert str(caught.value) == f"it has more than {MOST[told]:,} {told}"


def test_what_models_have_is_counted() -> None:
    inner = field(1) * 3
    data = graph_of(nodes=4, weights=5, inputs=2, outputs=1) + field(14) * 2
    found = count_parts(memoryview(data + field(7, branch(inner, 2))))

    assert found == {
        "nodes": 4 + 1 + 6,
        "graphs in nodes": 2,
        "inputs and outputs": 3,
        "weights": 5,
        "inputs of a node": 0,
        "facts beside the graph": 2,
    }


def test_branches_without_end_and_files_that_are_cut_are_damaged() -> None:
    for data in (field(7, nested(60)), graph_of(nodes=5)[:-1], field(7)[:-1] + b"\x05"):
        with pytest.raises(FormatError):
            count_parts(memoryview(data))


@pytest.fixture
def million(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    path.write_bytes(graph_of(nodes=MILLION))
    return path


def test_it_is_told_before_anything_is_loaded(million: Path) -> None:
    with pytest.raises(WorkError) as caught:
        check_parts(million)

    assert caught.value.message == "'m.onnx' is no model for an NPU: it has more than 100,000 nodes"
    assert caught.value.exit_code == 2
    with pytest.raises(RecipeError, match="it has more than 100,000 nodes"):
        look(million, Sizes(), [75])


def test_a_build_tells_it_at_the_recipes_place(million: Path) -> None:
    action = Action(
        name="fetch/m", step="fetch", call="x:y", outputs=("o",),
        inputs={"source": SourceOnnx(path="m.onnx")}, places={"source": AT},
    )  # fmt: skip
    inputs = Inputs(million.parent, Stats(), Records(Path(":memory:"), "here"))
    with pytest.raises(RecipeError, match=r"'m\.onnx' is no model for an NPU") as caught:
        inputs.tree(action, "source")

    (problem,) = caught.value.problems
    assert problem.at == AT
    assert problem.hint == "export it without loops that are unrolled, or in parts"


def test_what_is_no_onnx_file_is_left_to_who_reads_it(tmp_path: Path) -> None:
    files = {"empty": b"", "text": b"hello", "good": tiny_conv().SerializeToString()}
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

        assert check_parts(tmp_path / name) is None  # type: ignore[func-returns-value]
