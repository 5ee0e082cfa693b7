"""What a binary says of itself is held against what was asked for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from qnnbuild.formats.context_binary import MAGIC, ContextFacts
from qnnbuild.formats.context_json import BorderTensor, ReadContext, ReadGraph
from qnnbuild.formats.tensor import GraphFacts
from qnnbuild.work import qairt_context
from qnnbuild.work.qairt_sdk import Ended
from qnnbuild.work.run import Run, WorkError

GRAPH = ReadGraph(
    name="enc", inputs=(), outputs=(), vtcm_mb=8, optimization=3, hvx_threads=4, spill_fill_bytes=0
)
GOOD = ReadContext(
    build="v2.40.0.251030114326_189385",
    soc_model=69,
    arch=79,
    core_api=None,
    backend_api=None,
    blob_version=None,
    graphs=(GRAPH,),
)
ENDED = Ended(argv=("tool", "--a b"), env={"PATH": "/p"}, code=0, lines=("one", "", "two"))
PARAMS: dict[str, Any] = {
    "members": [
        {"stem": "enc", "graph": "enc", "reads_back": {"O": 3, "vtcm_mb": 8, "hvx_threads": 4}}
    ],
    "soc_model": 69,
    "arch": 79,
}
RUN = Run(params=PARAMS, inputs={}, outputs={})


def wrong(found: ReadContext, version: str = "2.40.0.251030") -> dict[str, str]:
    """What the error tells, but for the tool's own words."""
    with pytest.raises(WorkError) as caught:
        qairt_context._check(RUN, PARAMS["members"], found, ENDED, version)
    assert caught.value.exit_code == 5
    facts = dict(caught.value.facts)
    assert facts.pop("last lines") == "one\ntwo"
    assert facts.pop("by hand") == "qnnbuild shell {action}\n./again\nPATH=/p tool '--a b'"
    return facts


@pytest.mark.parametrize(
    ("found", "version"),
    [(GOOD, "2.40.0"), (replace(GOOD, soc_model=0), "2.40.0.251030")],
    ids=["as asked for", "a number of the chip that got lost"],
)
def test_what_was_asked_for_is_good(found: ReadContext, version: str) -> None:
    told = [
        *qairt_context._graphs_wrong(PARAMS["members"], found),
        *qairt_context.chip_wrong(PARAMS, found),
    ]

    assert told == []
    qairt_context._check(RUN, PARAMS["members"], found, ENDED, version)


def test_the_defaults_of_a_file_that_did_not_count_are_told() -> None:
    default = replace(GRAPH, vtcm_mb=4, optimization=0, hvx_threads=0)

    assert wrong(replace(GOOD, arch=68, graphs=(default,))) == {
        "HTP": "v68, asked for v79",
        "O of enc": "0, asked for 3",
        "vtcm_mb of enc": "4, asked for 8",
        "hvx_threads of enc": "0, asked for 4",
    }


def test_another_graph_chip_or_sdk_is_told() -> None:
    other = replace(GRAPH, name="enc_1")
    assert wrong(replace(GOOD, graphs=(other,))) == {"graphs": "enc_1, asked for enc"}
    assert wrong(replace(GOOD, graphs=())) == {"graphs": "none, asked for enc"}
    assert wrong(replace(GOOD, soc_model=57)) == {"soc_model": "57, asked for 69"}
    assert wrong(replace(GOOD, arch=None)) == {"HTP": "nothing, asked for v79"}
    assert wrong(GOOD, "2.42.0") == {"SDK": "v2.40.0.251030114326_189385, asked for 2.42.0"}


@pytest.mark.parametrize(
    "line",
    [
        "     32.1ms [ ERROR ] Invalid key: graph_configs/0/graph_priority",
        "Unused Arguments: --htp_arch",
    ],
)
def test_what_the_tool_passes_over_is_an_error(line: str) -> None:
    with pytest.raises(WorkError, match="passed over what it was told"):
        qairt_context.check_taken(replace(ENDED, lines=(line,)))


def test_no_binary_is_an_error_though_the_tool_ended_well(tmp_path: Any) -> None:
    with pytest.raises(WorkError, match=r"ended well and wrote no m\.bin"):
        qairt_context._check_there(ENDED, tmp_path / "m.bin")


OWN = ContextFacts(
    size=9,
    soc_type="SM8750",
    soc_model=69,
    arch=79,
    vtcm_mb=8,
    hvx_threads=4,
    sdk_build="v2.40.0.251030114326",
    graphs=(GraphFacts(name="enc", inputs=(), outputs=()),),
    settings={"O": "3"},
)


def own_wrong(own: ContextFacts) -> dict[str, str]:
    return dict(qairt_context._own_wrong(PARAMS, PARAMS["members"], own, "2.40.0.251030"))


def test_the_files_own_bytes_are_asked_too() -> None:
    assert own_wrong(OWN) == {}
    assert own_wrong(replace(OWN, arch=68, vtcm_mb=4, settings={"O": "0"})) == {
        "HTP in the file": "v68, asked for v79",
        "O in the file": "0, asked for 3",
        "vtcm_mb in the file": "4, asked for 8",
    }
    assert own_wrong(replace(OWN, graphs=(replace(OWN.graphs[0], name="g"),))) == {
        "graphs in the file": "g, asked for enc"
    }
    assert own_wrong(replace(OWN, sdk_build="v2.41.0.251130114326")) == {
        "SDK in the file": "v2.41.0.251130114326, asked for 2.40.0.251030"
    }


def test_what_a_file_does_not_say_is_no_mistake() -> None:
    silent = replace(OWN, arch=None, vtcm_mb=None, sdk_build=None, graphs=(), settings={})

    assert own_wrong(silent) == {}


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"another header" * 9, id="no header that is known"),
        pytest.param(MAGIC + bytes(400), id="a description of another version"),
        pytest.param(
            bytes.fromhex("00000002 00000004 00000000 00000001") + bytes(400),
            id="a header of another version, and no chip",
        ),
    ],
)
def test_what_our_own_reader_does_not_know_is_no_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(data)
    run = Run(params={}, inputs={}, outputs={})

    assert qairt_context._own_reading(run, path) is None
    warned = [one.message for one in run.warnings]
    assert all(text.startswith("m.bin cannot be read here (") for text in warned)
    assert len(warned) == (0 if data.startswith(b"another") else 1)


def test_orders_that_the_recipe_tells_are_among_the_facts(tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(b"binary")
    border = [BorderTensor(name=name, dtype="float32", shape=(1, 8, 8)) for name in ("x", "a_b")]
    found = replace(GOOD, graphs=(replace(GRAPH, inputs=(border[0],), outputs=(border[1],)),))
    member = {**PARAMS["members"][0], "orders": {"x": [1, 0, 2], "a.b": [0, 2, 1]}}
    run = Run(params={"dlc": True}, inputs={}, outputs={})

    with mock.patch.object(qairt_context, "operators_of", return_value=2):
        told = qairt_context._facts(run, member, found, path, {})

    assert [one["order"] for one in (*told["inputs"], *told["outputs"])] == [[1, 0, 2], [0, 2, 1]]
