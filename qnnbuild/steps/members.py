"""One graph of a context that several share: the compile of it alone, which it has beside."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from qnnbuild.actions.action import Action, Input, OutputOf
from qnnbuild.digest import Json
from qnnbuild.errors import NothingMatches

ALONE = {"qnnbuild.work.context_shared:shared": "qnnbuild.work.context_ort:context"}
"""How several graphs are compiled → how one of them is by itself."""

TAKEN = ("model", "names", "packages")


def member_of(compiled: Action, name: str) -> Action:
    """`compiled` if it is of one graph; of a shared context the graph that the action `name` is of.

    What comes back is called as the graph's own context would be, and is in no plan.
    """
    members = compiled.params.get("members")
    call = ALONE.get(compiled.call or "")
    if call is None or not isinstance(members, Mapping):
        return compiled
    bases = {stem: _base(compiled, stem) for stem in members}
    wanted = _about(name)
    stem = next((stem for stem, base in bases.items() if base == wanted), None)
    chip = compiled.name.partition("@")[2]
    if stem is None:
        raise NothingMatches(
            f"{compiled.name} holds several graphs, and one is looked at at a time",
            facts=[("they are", ", ".join(bases.values()))],
            hint=f"name an action of one of them: verify/{next(iter(bases.values()))}@{chip}",
        )
    inputs: dict[str, Input] = {
        kind: compiled.inputs[f"{kind}-{stem}"]
        for kind in TAKEN
        if f"{kind}-{stem}" in compiled.inputs
    }
    given = members[stem]
    assert isinstance(given, Mapping)
    params: dict[str, Json] = {**given, "graph": bases[stem].split("/")[1]}
    return replace(
        compiled,
        name=f"context/{bases[stem]}@{chip}",
        call=call,
        params=params,
        inputs=inputs,
        outputs=("context", "facts"),
        deadline_s=compiled.deadline_s / (2 * len(members)),  # shared and alone
    )


def _base(compiled: Action, stem: str) -> str:
    """The graph's model, name and variant, as its own actions are called."""
    names = compiled.inputs[f"names-{stem}"]
    assert isinstance(names, OutputOf)
    return names.action.partition("/")[2].partition("~")[0]


def _about(name: str) -> str:
    """What an action's name says it is about: verify/two/plain@SM8750 is of two/plain."""
    step, _, rest = name.partition("/")
    rest = rest.partition("@")[0].partition("~")[0]
    if step != "context":  # there a + joins graphs, elsewhere a precision follows it
        rest = rest.partition("+")[0]
    if step in ("dump", "metric"):
        rest = rest.rpartition("/")[0]
    return rest
