"""What comes after the last task of a run: build/, the gate, the exit code."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from qnnbuild.engine import gate
from qnnbuild.engine.gate_file import Landed
from qnnbuild.engine.state import NotCurrent
from qnnbuild.errors import QnnbuildError, RecipeError

if TYPE_CHECKING:
    from pathlib import Path

    from qnnbuild.bridge.tasks import Build


def finish(build: Build, before: gate.Gate) -> None:
    """Put what was made where users look for it, and remember what need not be looked at again."""
    session = build.session
    session.finish()
    if not build.stopped:
        gate.keep(
            before,
            _looked(build),
            common=session.common,
            folders=session.folders,
            recipes=session.recipes,
            finished=session.finished,
            store=session.store_folder,
        )


def _looked(build: Build) -> Iterator[gate.Looked]:
    """The models of which every action is current now."""
    session = build.session
    for recipe, model in session.recipes.items():
        names = session.plan.groups.get(model, ()) if model is not None else ()
        if model is None or not all(name in build.seconds for name in names):
            continue
        try:
            files = list(_files(build, names))
        except NotCurrent:
            continue  # its store is being collected: the next build looks at it
        yield gate.Looked(
            name=model,
            recipe=recipe,
            names=names,
            saved_s=sum(build.seconds[name] for name in names),
            files=files,
            ran=any(name in build.outcomes for name in names),
            landed=list(_landed(build, names)),
        )


def _landed(build: Build, names: tuple[str, ...]) -> Iterator[Landed]:
    for name in names:
        lands = build.session.plan[name].lands
        if lands is not None:
            outcome = build.outcomes.get(name)
            record = outcome.record if outcome is not None else build.current[name]
            yield Landed(name=name, lands=lands, key=record.key)


def _files(build: Build, names: tuple[str, ...]) -> Iterator[Path]:
    for name in names:
        sources, kept = build.session.paths(name)
        yield from sources
        yield from kept


def exit_code(build: Build | None, code: int) -> int:
    """Of several failures the lowest class; `code` is doit's, for tasks that are not ours."""
    if build is None:
        return code
    codes = {error.exit_code for error in build.failures.values()}
    if any(problem.severity == "error" for problem in build.session.problems):
        codes.add(RecipeError.exit_code)
    if build.has_bug:
        codes.add(QnnbuildError.exit_code)
    return min(codes, default=code)
