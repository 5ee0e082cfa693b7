"""How it stands with the actions of a plan, for commands that only look."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from qnnbuild.actions.plan import Plan
from qnnbuild.engine.builder import NEVER, Builder
from qnnbuild.engine.state import Current, Stale, State, Waits
from qnnbuild.errors import QnnbuildError
from qnnbuild.session import Session, open_builder

Found = State | QnnbuildError
"""An error is an answer too: a source is missing, a package is not installed."""


def states(session: Session, part: Plan) -> dict[str, Found]:
    """The state of every action of `part`. Runs nothing and changes no record."""
    with open_builder(session, only_look=True) as builder:
        found: dict[str, Found] = {}
        for action in part:
            waits = tuple(n for n in action.needs() if not isinstance(found[n], Current))
            if waits:
                found[action.name] = Waits(on=waits)
                continue
            try:
                found[action.name] = _with_failure(builder, builder.state(action.name))
            except QnnbuildError as error:
                found[action.name] = error
        return found


def _with_failure(builder: Builder, state: State) -> State:
    """What failed is not "never built": its last run is the reason, before all that changed."""
    failed = builder.failures.told(state.key) if isinstance(state, Stale) else ()
    if not failed or not isinstance(state, Stale):
        return state
    changed = tuple(reason for reason in state.reasons if reason != NEVER)
    return replace(state, reasons=(*failed, *changed))


def runs_first(name: str, found: Mapping[str, Found]) -> tuple[str, ...]:
    """What is stale or broken below something that waits, and why: where a build would begin."""
    state = found[name]
    if not isinstance(state, Waits):
        return (f"{name} is {kind_of(state)}: {'; '.join(described(state))}",)
    return tuple(dict.fromkeys(line for need in state.on for line in runs_first(need, found)))


def summary(found: Iterable[Found]) -> str:
    """How many there are of each kind."""
    kinds = Counter(kind_of(state) for state in found)
    words = {"current": "current", "stale": "stale", "waits": "waiting", "broken": "broken"}
    told = [f"{kinds[kind]:,} {word}" for kind, word in words.items() if kinds[kind]]
    total = sum(kinds.values())
    actions = f"{total:,} action{'' if total == 1 else 's'}"
    return f"{actions}: {', '.join(told)}" if told else "there is nothing to build"


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
            return (f"for {', '.join(found.on)}",)
        case QnnbuildError():
            return tuple(problem.message for problem in found.problems)
        case _:
            return ()
