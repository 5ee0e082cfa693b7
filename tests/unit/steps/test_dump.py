"""Which dumps are planned, where they land, and which op trace `qnnbuild trace NAME` means."""

from __future__ import annotations

from dataclasses import replace

import pytest

from qnnbuild.actions.action import OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import NothingMatches
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    ExpectedFailure,
    FileSource,
    Graph,
    License,
    Target,
)
from qnnbuild.planner import plan_of, problems_of
from qnnbuild.steps.dump import trace, wanted
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.work import Work

CHIPS = packaged_chips()
GRAPH = Graph(
    name="vad",
    source=FileSource(file="vad.onnx"),
    options={"ort": {"vtcm_mb": 4}},
)
TARGET = Target(
    model="silero",
    variant="16k",
    axes={},
    chip=CHIPS["SM8750"],
    toolchain="ort",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)
CONTEXT = "context/silero/vad/16k@SM8750"
OP_TRACE = "dump/silero/vad/16k/op_trace@SM8750"


def plan(**graph: object) -> Plan:
    return plan_of([replace(TARGET, graphs=(replace(GRAPH, **graph),))], {"ort": OrtQnn()})  # type: ignore[arg-type]  # by name


def dumps(found: Plan) -> list[str]:
    return [action.name for action in found if action.step == "dump"]


def test_without_wishes_there_are_none():
    assert dumps(plan()) == []


def test_each_kind_is_an_action_that_lands_outside_of_the_bundle():
    found = plan(dumps=("op_trace", "dlc"))

    assert dumps(found) == [OP_TRACE, "dump/silero/vad/16k/dlc@SM8750"]
    assert found[OP_TRACE].lands == "dumps/silero/16k/SM8750/vad/op_trace"
    assert found["bundle/silero/16k@SM8750"].needs() == plan()["bundle/silero/16k@SM8750"].needs()


def test_what_counts_for_a_dlc_alone_is_in_no_other_key():
    skipping = {"ort": {"skip_backend_op_validation": True}}
    both = ("dlc", "qnn_graph")
    plain, found = plan(options={}, dumps=both), plan(options=skipping, dumps=both)
    dlc = "dump/silero/vad/16k/dlc@SM8750"

    assert [a.name for a in found if a.params != plain[a.name].params] == [dlc]
    assert found[dlc].params["options"] == {"skip_backend_op_validation": "1"}


def test_a_session_that_runs_here_is_not_given_what_only_a_device_has():
    shared = {"ort": {"enable_htp_shared_memory_allocator": True}}
    found = plan(options=shared, dumps=("dlc", "qnn_graph", "saver"))
    given = [bool(found[name].params["options"]) for name in dumps(found)]

    assert given == [False, True, False]


def test_a_dump_is_of_the_very_compile_that_ships():
    found = plan(dumps=("dlc",))
    shared = ("soc_model", "options", "cpu_fallback")
    dump, context = found["dump/silero/vad/16k/dlc@SM8750"], found[CONTEXT]

    assert dump.inputs == context.inputs
    assert {k: dump.params[k] for k in shared} == {k: context.params[k] for k in shared}
    assert dump.params["options"] == {"vtcm_mb": "4"}


def test_where_nodes_may_run_on_the_cpu_there_is_an_op_trace_that_lands_nowhere():
    found = plan(cpu_fallback="allow")

    assert dumps(found) == [OP_TRACE]
    assert found[OP_TRACE].lands is None


def test_what_the_cpu_runs_is_told_to_the_bundle():
    bundle = "bundle/silero/16k@SM8750"

    assert plan(cpu_fallback="allow")[bundle].inputs["trace-vad"] == OutputOf(
        action=OP_TRACE, output="dump"
    )
    assert "trace-vad" not in plan(dumps=("op_trace",))[bundle].inputs


def test_an_optrace_brings_the_schematic_that_its_reader_needs():
    graph = replace(GRAPH, options={"ort": {"profiling_level": "optrace"}}, dumps=("dlc",))

    assert wanted(graph) == ("dlc", "schematic")


def test_a_schematic_is_held_against_the_binary_that_ships():
    made = plan(dumps=("schematic",))["dump/silero/vad/16k/schematic@SM8750"]

    assert made.inputs["context"] == OutputOf(action=CONTEXT, output="context")
    assert made.lands == "dumps/silero/16k/SM8750/vad/schematic"


def test_a_graph_that_is_known_to_fail_is_not_dumped():
    known = ExpectedFailure(reason="it overflows")

    assert dumps(plan(expect_failure=known, dumps=("dlc",), cpu_fallback="allow")) == []


def test_a_trace_on_demand_is_the_same_work_as_one_of_the_plan():
    planned = plan(dumps=("op_trace",))[OP_TRACE]

    assert replace(trace(plan(), CONTEXT), lands=planned.lands) == planned


@pytest.mark.parametrize(
    "name", [CONTEXT, OP_TRACE, "verify/silero/vad/16k@SM8750", "prepare/silero/vad/16k"]
)
def test_the_planned_trace_is_found_from_all_that_has_to_do_with_the_graph(name: str):
    found = plan(dumps=("op_trace",))

    assert trace(found, name) is found[OP_TRACE]


def test_from_another_dump_of_the_graph_the_trace_is_made() -> None:
    traced = trace(plan(dumps=("dlc",)), "dump/silero/vad/16k/dlc@SM8750")

    assert traced.name == OP_TRACE


def test_a_graph_that_shares_its_binary_is_traced_by_itself() -> None:
    alone = replace(GRAPH, name="alone")
    one = replace(TARGET, graphs=(alone,))
    two = replace(
        TARGET,
        graphs=(alone, replace(alone, name="beside")),
        context=ContextOptions(share_weights=("graphs",)),
    )
    shared, single = (plan_of([target], {"ort": OrtQnn()}) for target in (two, one))
    base = f"silero/alone/{TARGET.variant}@SM8750"

    traced = trace(shared, f"verify/{base}")
    (context,) = (a.name for a in shared if a.step == "context")
    with pytest.raises(NothingMatches) as caught:
        trace(shared, context)

    assert traced == replace(
        trace(single, f"context/{base}"), tools=traced.tools, places=traced.places
    )
    assert caught.value.problems[0].message == (
        f"{context} holds several graphs, and one is looked at at a time"
    )


def test_what_counts_for_a_dlc_alone_reaches_no_other_dump() -> None:
    asked = {"ort": {"skip_backend_op_validation": True}}
    found = plan(dumps=("dlc", "op_trace"), options=asked)

    assert found["dump/silero/vad/16k/dlc@SM8750"].params["options"] == {
        "skip_backend_op_validation": "1"
    }
    assert found[OP_TRACE].params["options"] == {}


def test_a_graph_that_is_known_to_fail_can_be_traced():
    found = plan(expect_failure=ExpectedFailure(reason="it overflows"))
    traced = trace(found, "expect/silero/vad/16k@SM8750")

    assert traced.name == OP_TRACE
    assert traced.params == plan(dumps=("op_trace",))[OP_TRACE].params


def test_several_graphs_are_one_too_many():
    both = (GRAPH, replace(GRAPH, name="post", source=FileSource(file="post.onnx")))
    found = plan_of([replace(TARGET, graphs=both)], {"ort": OrtQnn()})
    with pytest.raises(NothingMatches) as caught:
        trace(found, "bundle/silero/16k@SM8750")

    assert caught.value.problems[0].message == (
        "bundle/silero/16k@SM8750 is about 2 compiled graphs, one is wanted"
    )


class Other(OrtQnn):
    """A toolchain that compiles by a program of its own."""

    name = "other"

    def context(self, *_: object) -> Work:
        return Work(argv=("generator",), outputs=("context", "facts"))


def test_another_toolchain_that_makes_none_says_so():
    target = replace(TARGET, toolchain="other", graphs=(replace(GRAPH, dumps=("dlc",)),))
    (problem,) = problems_of([target], {"other": Other()})

    assert problem.message == "the toolchain other makes no dumps"
