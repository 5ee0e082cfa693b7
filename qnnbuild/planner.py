"""Targets become actions. What can be part of a plan stands in three tuples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain

from qnnbuild.actions.action import Action
from qnnbuild.actions.plan import Plan
from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import Target
from qnnbuild.model.sdks import is_sdk
from qnnbuild.plans.archives import archive_problems
from qnnbuild.plans.model_plan import ModelPlan
from qnnbuild.plans.op_packages import op_package_problems
from qnnbuild.plans.sharing import sharing_problems
from qnnbuild.steps import prepare as prepare_step
from qnnbuild.steps import wrap as wrap_step
from qnnbuild.steps.archive import archive
from qnnbuild.steps.bundle import bundle
from qnnbuild.steps.context import context
from qnnbuild.steps.convert import convert
from qnnbuild.steps.dlc import lowered, unquantized
from qnnbuild.steps.dump import dump
from qnnbuild.steps.dump import problems as dump_problems
from qnnbuild.steps.expected import expected
from qnnbuild.steps.export import export
from qnnbuild.steps.fetch import fetch
from qnnbuild.steps.library import library
from qnnbuild.steps.library_bundle import library_bundle
from qnnbuild.steps.on_device import on_device
from qnnbuild.steps.on_device import problems as on_device_problems
from qnnbuild.steps.op_packages import op_package, packages, skeleton
from qnnbuild.steps.prepare import prepare
from qnnbuild.steps.runtime import runtime
from qnnbuild.steps.samples import calibrate, feeds, references, samples
from qnnbuild.steps.search import attempt, emulate, judge, sensitivity
from qnnbuild.steps.verify import metric, reference, verdict, verify
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.work import Toolchain

STEPS = (
    *(fetch, export, prepare, feeds, calibrate, attempt, emulate, judge, sensitivity),
    *(skeleton, op_package, packages, unquantized, convert, lowered, library, context, dump),
    wrap_step.wrap,
    *(samples, references, reference, verify, metric, verdict, expected, bundle),
    on_device,
    *(library_bundle, archive, runtime),
)
CHECKS = (prepare_step.problems,)
TOOLCHAINS: tuple[Toolchain, ...] = (OrtQnn(),)


def problems_of(targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> list[Problem]:
    """What cannot work on its chip with its tools; what is wrong for many chips is told once."""
    targets = list(targets)
    found: dict[Hashable, Problem] = {}
    for problem in wrap_step.problems(targets):
        found.setdefault(problem.at, problem)
    for target in targets:
        toolchain = toolchains.get(target.toolchain)
        if toolchain is None:
            problem = _no_toolchain(target, toolchains)
            found.setdefault((problem.at, problem.message), problem)
            continue
        for graph in target.graphs:
            for problem in chain(
                *(check(graph) for check in CHECKS),
                toolchain.problems(graph, target.chip, target.context),
                dump_problems(graph, target.chip, toolchain),
                on_device_problems(graph, target.chip, toolchain),
                op_package_problems(target, graph, toolchains),
            ):
                # the same mistake for another chip is at the same place with the same hint
                found.setdefault((problem.at, problem.hint or problem.message), problem)
    for several in _by_model(targets).values():
        for problem in sharing_problems(several, toolchains):
            found.setdefault((problem.at, problem.message), problem)
    for problem in archive_problems(targets, toolchains):
        found.setdefault((problem.at, problem.message), problem)
    return list(found.values())


def _no_toolchain(target: Target, toolchains: Mapping[str, Toolchain]) -> Problem:
    known = ", ".join(toolchains)
    if is_sdk(target.toolchain):
        return Problem(
            message=f"the toolchain '{target.toolchain}' is not declared",
            at=target.places.get("toolchain"),
            facts=(("toolchains here", known),),
            hint=f"toolchains: {{{target.toolchain}: {{root: …}}}} in qnnbuild.yaml says where the "
            "SDK is",
        )
    return Problem(
        message=f"no toolchain is named '{target.toolchain}'",
        at=target.places.get("toolchain"),
        hint=did_you_mean(target.toolchain, toolchains, otherwise=f"toolchains here: {known}"),
    )


def plan_of(targets: Sequence[Target], toolchains: Mapping[str, Toolchain]) -> Plan:
    """The actions for `targets`, each once. Pure: asks no disk, no clock, no tool."""
    actions: list[Action] = []
    for several in _by_model(targets).values():
        actions += ModelPlan(several, toolchains).actions()
    return Plan.of(actions)


def _by_model(targets: Iterable[Target]) -> Mapping[str, list[Target]]:
    found: defaultdict[str, list[Target]] = defaultdict(list)
    for target in targets:
        found[target.model].append(target)
    return found
