"""The samples that a graph is run on: for the verdict, and for what searches a precision for it."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.actions.action import Action
from qnnbuild.plans.names import Names, Use, source_of
from qnnbuild.steps.samples import feeds, samples


def shown_samples(names: Names, use: Use, prepared: Action) -> Iterator[Action]:
    """What a Python file yields, where the recipe names one, and last the checked samples."""
    given = use.graph.verify.samples
    fed = None
    if given.python is not None:
        fed = names.shared(
            f"feeds/{use.base}", use, lambda name: feeds(use.target, use.graph, given, name)
        )
        yield fed
    yield names.shared(
        f"samples/{use.base}",
        use,
        lambda name: samples(
            use.target,
            use.graph,
            prepared=prepared.name,
            source=source_of(prepared),
            feeds=fed.name if fed else None,
            name=name,
        ),
    )
