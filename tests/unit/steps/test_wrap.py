"""Actions around what was made elsewhere, and what no single graph shows."""

from __future__ import annotations

from dataclasses import replace

from qnnbuild.actions.action import OutputOf, SourceFiles
from qnnbuild.errors import Span
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Genie,
    Graph,
    InputSpec,
    License,
    Target,
    Verify,
    Wrapped,
)
from qnnbuild.steps.context import Member
from qnnbuild.steps.wrap import original_of, problems, wrap, wrapped_context
from qnnbuild.toolchains.ortqnn import OrtQnn

CHIPS = packaged_chips()
AT = Span(file="recipes/m.yaml", line=3, column=5)
BINARY = Graph(
    name="net",
    source=FileSource(file="m.bin", span=AT),
    precision="compiled",
    wrapped=Wrapped(),
    inputs={"x": InputSpec(range=(0.0, 3.0), layout="NCHW")},
    places={"graph": AT},
)
DLC = replace(
    BINARY, precision="genie", wrapped=None, genie=Genie(override="llm/tmp.json"), inputs={}
)
FETCHED = OutputOf(action="fetch/m", output="model")


def target(*graphs: Graph, chip: str = "SM8750", group: str = "") -> Target:
    return Target(
        model="m",
        variant="",
        axes={},
        chip=CHIPS[chip],
        toolchain="ort",
        license=License(spdx="MIT"),
        graphs=graphs,
        context=ContextOptions(),
        bundle=BundleOptions(),
        group=group,
    )


def test_a_binary_is_wrapped_by_the_name_of_its_graph_and_nothing_of_the_chip_counts() -> None:
    original = OutputOf(action="fetch/m/net/original", output="model")
    action = wrap(target(BINARY), BINARY, FETCHED, original=original, name="wrap/m/net")

    assert action.call == "qnnbuild.work.wrap:wrap"
    assert action.params == {
        "graph": "net",
        "given": False,
        "float_io": False,
        "inputs": {"x": {"layout": "NCHW", "range": [0.0, 3.0]}},
    }
    assert action.inputs == {"model": FETCHED, "original": original}
    assert action.outputs == ("model", "baseline", "names", "report")


def test_a_dlc_has_the_documented_borders_where_the_recipe_names_none() -> None:
    action = wrap(target(DLC), DLC, FETCHED, name="wrap/m/net")

    assert action.call == "qnnbuild.work.wrap_genie:wrap"
    assert action.params == {
        "inputs": [{"name": "input_ids", "dtype": "int32", "shape": ["batch", "tokens"]}],
        "outputs": [
            {"name": "logits", "dtype": "float32", "shape": ["batch", "tokens", "vocabulary"]}
        ],
    }
    assert action.inputs["override"] == SourceFiles(patterns=("llm/tmp.json",))


def test_graphs_of_one_binary_have_one_context() -> None:
    unseen = replace(BINARY, name="other", verify=Verify(chips=("none",)))
    members = [
        Member(graph=one, stem=one.name, prepared=f"wrap/m/{one.name}", converted="")
        for one in (BINARY, unseen)
    ]
    action = wrapped_context(target(BINARY, unseen), members, OrtQnn(), name="context/m")

    assert action.call == "qnnbuild.work.wrap_context:context"
    assert action.params == {
        "chip": "SM8750",
        "soc_model": 69,
        "reads_back": {"soc_type": "SM8750", "arch": 79},
        "vtcm_mb": 8,
        "embed": False,
        "graphs": {
            "net": {"graph": "net", "load": True},
            "other": {"graph": "other", "load": False},
        },
    }
    assert sorted(action.inputs) == ["model-net", "model-other"]


def test_what_brings_the_original_speaks_of_its_own_place() -> None:
    graph = replace(BINARY, places={"graph": AT, "source.file": AT, "compiled.original.url": AT})

    assert original_of(graph, FileSource(file="m.onnx")).places == {"graph": AT, "source.url": AT}


def test_chips_with_one_soc_model_may_have_one_binary() -> None:
    same = [target(BINARY, chip=name) for name in ("SC8380XP", "SC8340XP")]

    assert list(problems(same)) == []


def test_two_chips_and_a_group_of_chips_cannot_have_one_binary() -> None:
    told = list(problems([target(BINARY), target(BINARY, chip="SM8650", group="phones")]))

    assert [one.message for one in told] == [
        "a context binary is for one chip, and this one would be for SM8750 and SM8650",
        "'net' was made elsewhere, and multi_soc is for the compile",
    ]


def test_two_dlcs_in_one_bundle_would_find_each_others_override() -> None:
    (told,) = problems([target(DLC, replace(DLC, name="other", genie=Genie()))])

    assert told.message == (
        "Genie takes any tmp*.json beside a DLC, and the bundle would have 2 DLCs"
    )
