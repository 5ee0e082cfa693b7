"""dump: what the compiler tells of one graph on one chip, apart from the binary that ships."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.digest import Json
from qnnbuild.errors import NothingMatches, Problem
from qnnbuild.model.recipe import DUMPS, Chip, ContextOptions, Graph, Target
from qnnbuild.steps.members import member_of
from qnnbuild.steps.wrap import check_compiled_here
from qnnbuild.toolchains import ortqnn
from qnnbuild.toolchains.work import Toolchain

CALLS = {"qnnbuild.work.context_ort:context": "qnnbuild.work.dump_ort:dump"}
"""How a context is compiled → what makes the dumps of such a compile."""

TRIED = {"qnnbuild.work.expected_ort:expected": "qnnbuild.work.context_ort:context"}
"""What tries to compile a graph that is known to fail → what it tries."""

TAKEN = ("model", "names", "packages")

OP_TRACE = "op_trace"
SCHEMATIC = "schematic"


def dump(
    target: Target,
    graph: Graph,
    toolchain: Toolchain,
    kind: str,
    *,
    prepared: str,
    converted: str,
    compiled: str,
    packages: str | None = None,
    name: str,
) -> Action:
    """The compile of context, once more; with the options of that compile, and one to look.

    A schematic belongs to one binary, so it is compared with what `compiled` has made.
    """
    work = toolchain.context(graph, target.chip, ContextOptions(embed=target.context.embed))
    taken = {
        "model": OutputOf(action=converted, output="model"),
        "names": OutputOf(action=prepared, output="names"),
        "packages": packages and OutputOf(action=packages, output="here"),
        "context": kind == SCHEMATIC and OutputOf(action=compiled, output="context"),
    }
    # outside of all bundles, whose digests must not know of dumps
    where = (DUMPS, target.model, target.variant, target.chip.name, graph.name, kind)
    return Action(
        name=name,
        step="dump",
        call=CALLS[work.call or ""],
        params={
            **_params(kind, graph.name, target.chip.name, work.params),
            "options": dict(ortqnn.dump_options(graph, kind)),
        },
        inputs={name: given for name, given in taken.items() if given},
        outputs=("dump",),
        tools=(*work.tools, "package:onnx"),
        env=work.env,
        deadline_s=graph.deadline_s,
        places=graph.places,
        lands="/".join(filter(None, where)) if kind in wanted(graph) else None,
        group=target.model,
        about=f"{kind} of {graph.name} for {target.chip.name}",
    )


def wanted(graph: Graph) -> tuple[str, ...]:
    """Those that the recipe lists, and the schematic without which an optrace says nothing."""
    level = graph.options.get(ortqnn.NAME, {}).get("profiling_level")
    return tuple(dict.fromkeys((*graph.dumps, *([SCHEMATIC] if level == "optrace" else []))))


def kinds(graph: Graph, chip: Chip, toolchain: Toolchain) -> tuple[str, ...]:
    """Those that are wanted; where nodes may run on the CPU the op trace, which says why."""
    if not _can(graph, chip, toolchain):
        return ()
    traced = [OP_TRACE] if graph.cpu_fallback == "allow" else []
    return tuple(dict.fromkeys((*wanted(graph), *traced)))


def traced_by(base: str, graph: Graph, chip: Chip, toolchain: Toolchain) -> str | None:
    """The action whose op trace tells what of a graph the CPU runs; None where it runs nothing."""
    if graph.cpu_fallback != "allow" or not _can(graph, chip, toolchain):
        return None
    return name_of(base, OP_TRACE, chip.name)


def name_of(base: str, kind: str, chip: str) -> str:
    return f"dump/{base}/{kind}@{chip}"


def problems(graph: Graph, chip: Chip, toolchain: Toolchain) -> Iterable[Problem]:
    """Dumps are asked for, and the toolchain compiles in a way that makes none."""
    if graph.dumps and not _can(graph, chip, toolchain):
        of = "" if graph.backend == "htp" else f" of what the {graph.backend} compiles"
        yield Problem(
            message=f"the toolchain {toolchain.name} makes no dumps{of}",
            at=graph.places.get("dumps"),
            hint="leave dumps: away",
        )


def _can(graph: Graph, chip: Chip, toolchain: Toolchain) -> bool:
    return toolchain.context(graph, chip, ContextOptions()).call in CALLS


def trace(plan: Plan, name: str) -> Action:
    """The op trace of the one compile that `name` is, tries, stands on, or is made from.

    The plan's own action where there is one; else the very same work, so that its record counts.
    """
    compiled = member_of(plan[_compiled(plan, name)], name)
    base, _, chip = compiled.name.partition("/")[2].partition("@")
    own = name_of(base, OP_TRACE, chip)
    if own in plan:
        return plan[own]
    check_compiled_here(plan, compiled)
    tried = compiled.params.get("context") if compiled.step == "expect" else compiled.params
    call = CALLS.get(TRIED.get(compiled.call or "", compiled.call or ""))
    if call is None or not isinstance(tried, Mapping):
        raise NothingMatches(f"there is no op trace of {compiled.name}: another tool compiles it")
    return Action(
        name=own,
        step="dump",
        call=call,
        params=_params(OP_TRACE, str(tried["graph"]), chip, tried),
        inputs={name: compiled.inputs[name] for name in TAKEN if name in compiled.inputs},
        outputs=("dump",),
        tools=tuple(dict.fromkeys((*compiled.tools, "package:onnx"))),
        env=compiled.env,
        deadline_s=compiled.deadline_s,
        places=compiled.places,
        group=compiled.group,
        about=f"{OP_TRACE} of {tried['graph']} for {chip}",
    )


def _params(kind: str, graph: str, chip: str, compiled: Mapping[str, Json]) -> dict[str, Json]:
    """Of a compile's own values those that decide what the compiler does."""
    embed = {"embed": compiled["embed"]} if kind == SCHEMATIC else {}
    own = {"op_packages": compiled["op_packages"]} if "op_packages" in compiled else {}
    return {
        **embed,
        **own,
        "kind": kind,
        "graph": graph,
        "chip": chip,
        "soc_model": compiled["soc_model"],
        "options": compiled["options"],
        "cpu_fallback": compiled["cpu_fallback"],
    }


def _compiled(plan: Plan, name: str) -> str:
    if plan[name].step == "dump":
        base, _, kind = name.removeprefix("dump/").rpartition("/")
        name = f"context/{base}@{kind.partition('@')[2]}"
    steps = ("context", "expect")
    needed = [a.name for a in plan.upto([name]) if a.step in steps]
    found = needed or [n for n in plan.dependents(name) if plan[n].step in steps]
    if len(found) != 1:
        shown = ", ".join(sorted(found)[:4]) + (", …" if len(found) > 4 else "")
        raise NothingMatches(
            f"{name} is about {len(found)} compiled graphs, one is wanted",
            facts=[("they are", shown)] if found else (),
            hint="name a graph and its chip: context/silero-vad/vad@SM8750",
        )
    return found[0]
