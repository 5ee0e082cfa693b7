"""How it stands with the actions of a plan, for commands that only look."""

from __future__ import annotations

from qnnbuild.actions.plan import Plan
from qnnbuild.engine.state import Current, Stale, State, Waits
from qnnbuild.errors import QnnbuildError
from qnnbuild.session import Session, open_builder

Found = State | QnnbuildError
"""An error is an answer too: a source is missing, a package is not installed."""


def states(session: Session, part: Plan) -> dict[str, Found]:
    """The state of every action of `part`. Runs nothing and changes no record."""
    with open_builder(session) as builder:
        found: dict[str, Found] = {}
        for action in part:
            broken = next((n for n in action.needs() if not _is_known(found[n])), None)
            if broken is not None:
                found[action.name] = Waits(on=(broken,))
                continue
            try:
                found[action.name] = builder.state(action.name)
            except QnnbuildError as error:
                found[action.name] = error
        return found


def _is_known(found: Found) -> bool:
    return isinstance(found, Current | Stale)


def kind_of(found: Found) -> str:
    """One word for a column: current, stale, waits or broken."""
    if isinstance(found, QnnbuildError):
        return "broken"
    return type(found).__name__.lower()


def described(found: Found) -> tuple[str, ...]:
    """Why it would run, in words; nothing when it is current."""
    match found:
        case Stale():
            return found.reasons
        case Waits():
            return tuple(f"waits for {name}" for name in found.on)
        case QnnbuildError():
            return tuple(problem.message for problem in found.problems)
        case _:
            return ()
