"""What a build has before it: the actions that are not current, and what their last runs took."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qnnbuild.engine.outlook import Outlook
from qnnbuild.engine.state import Current, Stale
from qnnbuild.errors import QnnbuildError

if TYPE_CHECKING:
    from qnnbuild.bridge.session import Session
    from qnnbuild.engine.state import State


@dataclass(frozen=True, kw_only=True)
class Foreseen:
    outlook: Outlook
    states: Mapping[str, State | QnnbuildError]  # of those that are not current, in order


def foresee(
    session: Session,
    names: Iterable[str],
    *,
    force: bool = False,
    gives_up: Callable[[], bool] = lambda: False,
) -> Foreseen | None:
    """Looks at each of `names`, as doit is going to; None when it was told to give up."""
    states: dict[str, State | QnnbuildError] = {}
    for name in names:
        if gives_up():
            return None
        try:
            state: State | QnnbuildError = session.state(name)
        except QnnbuildError as error:
            state = error
        if force or not isinstance(state, Current):
            states[name] = state
    needs = {name: session.plan[name].needs() for name in states}
    return Foreseen(outlook=Outlook(needs, session.seconds(states.keys())), states=states)


def why(state: State | QnnbuildError) -> list[str]:
    """Why an action runs, as far as it is known before what it needs has run."""
    if isinstance(state, Stale):
        return list(state.reasons)
    if isinstance(state, Current):
        return ["everything is run"]
    return [str(state)] if isinstance(state, QnnbuildError) else []
