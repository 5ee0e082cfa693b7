"""Which binaries are run before they ship, and the actions that do it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.model.patterns import matches_chip
from qnnbuild.plans.contexts import Chain, fails
from qnnbuild.plans.names import Names, Use
from qnnbuild.plans.samples import shown_samples
from qnnbuild.steps.debug import BORDERS_ALONE
from qnnbuild.steps.expected import Steps, expected
from qnnbuild.steps.on_device import on_device
from qnnbuild.steps.samples import references
from qnnbuild.steps.verify import metric, reference, verdict, verify

if TYPE_CHECKING:
    from qnnbuild.model.recipe import Target
    from qnnbuild.toolchains.work import Toolchain


GENERATIONS = ("generations",)


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a graph is run on and what its original answers, and the actions that make both."""

    actions: Sequence[Action]
    samples: OutputOf
    recorded: OutputOf | None
    referred: Action


class Proof:
    """Runs one chip of each generation, or those that the recipe wants; judges each graph apart."""

    def __init__(
        self,
        chains: Sequence[Chain],
        names: Names,
        toolchains: Mapping[str, Toolchain],
        each: Sequence[Target] = (),
    ) -> None:
        """`each` are targets of a binary for several chips: nobody stands for their single ones."""
        self.names = names
        self.toolchains = toolchains
        self.each = {id(target) for target in each}
        self.chosen: dict[Hashable, Chain] = {}
        for chain in chains:
            if self._is_wanted(chain) and not fails(chain.use.target):
                self.chosen.setdefault(chain.kin, chain)

    def _is_wanted(self, chain: Chain) -> bool:
        if chain.use.graph.backend != "htp":
            return False  # the host has an emulator for the HTP only
        if not self.toolchains[chain.use.target.toolchain].can_run:
            return False
        chips = chain.use.graph.verify.chips
        if chips in (GENERATIONS, ("all",)):
            return True
        return chips != ("none",) and any(matches_chip(p, chain.use.target.chip) for p in chips)

    def run_for(self, chain: Chain) -> Chain | None:
        """Whose binary is run to judge this one: its own, that of its kin, or nobody's."""
        alone = id(chain.use.target) in self.each
        if (alone or chain.use.graph.verify.chips != GENERATIONS) and self._is_wanted(chain):
            return chain
        return self.chosen.get(chain.kin)

    def actions(self, chain: Chain, toolchain: Toolchain) -> Iterator[Action]:
        """samples, reference, verify, metrics and, last, the verdict on the chain's own binary."""
        use, shown = chain.use, self._known(chain)
        yield from shown.actions
        verified = verify(
            use.target,
            use.graph,
            toolchain,
            compiled=chain.compiled.name,
            stem=chain.stem,
            alone=chain.is_run_alone,
            referred=shown.referred.name,
            samples=shown.samples,
            recorded=shown.recorded,
            packages=chain.packages.name if chain.packages else None,
            name=f"verify/{use.base}@{use.target.chip.name}",
        )
        yield verified
        yield from self._judged(chain, verified, shown.referred, shown.samples)

    def on_device(self, chain: Chain, toolchain: Toolchain) -> Iterator[Action]:
        """A folder for a phone where the recipe wants one, whatever of it the host runs."""
        use = chain.use
        if not use.graph.verify.on_device or use.graph.backend != "htp":
            return
        known = self._known(chain)
        yield from known.actions
        given = {
            "samples": known.samples,
            "reference": OutputOf(action=known.referred.name, output="reference"),
            **({"recorded": known.recorded} if known.recorded else {}),
        }
        given |= {f"packages{end}": one for end, one in chain.own_libraries.items()}
        yield on_device(
            use.target,
            use.graph,
            toolchain,
            compiled=chain.compiled.name,
            stem=chain.stem,
            given=given,
            name=f"on-device/{use.base}@{use.target.chip.name}",
        )

    def _known(self, chain: Chain) -> Known:
        use = chain.use
        made = list(shown_samples(self.names, use, chain.prepared))
        shown = OutputOf(action=made[-1].name, output="feeds")
        recorded = None
        if use.graph.verify.reference:
            outputs = self._recorded(chain, made[-1].name)
            made.append(outputs)
            recorded = OutputOf(action=outputs.name, output="recorded")
        referred = self._shared(
            "reference",
            use,
            lambda name: reference(
                use.target,
                use.graph,
                prepared=chain.prepared.name,
                samples=shown,
                recorded=recorded,
                name=name,
            ),
        )
        made.append(referred)
        return Known(actions=made, samples=shown, recorded=recorded, referred=referred)

    def _recorded(self, chain: Chain, shown: str) -> Action:
        use = chain.use
        return self._shared(
            "references",
            use,
            lambda name: references(
                use.target, use.graph, prepared=chain.prepared.name, samples=shown, name=name
            ),
        )

    def expected(self, chain: Chain, toolchain: Toolchain) -> Iterator[Action]:
        """For a graph that is known to fail: what it is run with, and one action for the rest."""
        failure = chain.use.graph.expect_failure
        assert failure is not None
        steps = Steps(compiled=chain.compiled)
        if self._is_wanted(chain):
            proved = list(self.actions(chain, toolchain))
            by_step = {action.step: action for action in proved}
            metrics = {str(a.params["name"]): a for a in proved if a.step == "metric"}
            yield from (a for a in proved if a.step not in ("verify", "metric", "verdict"))
            steps = Steps(
                compiled=chain.compiled,
                verified=by_step["verify"],
                metrics=metrics,
                judged=by_step["verdict"],
            )
        use = chain.use
        yield expected(use.target, use.graph, steps, failure)

    def _judged(
        self, chain: Chain, verified: Action, referred: Action, shown: OutputOf
    ) -> Iterator[Action]:
        use = chain.use
        chip = use.target.chip.name
        measured: dict[str, str] = {}
        for measure in use.graph.verify.metrics:
            action = metric(
                use.target,
                use.graph,
                measure,
                verified=verified.name,
                referred=referred.name,
                samples=shown,
                name=f"metric/{use.base}/{measure.name}@{chip}",
            )
            measured[measure.name] = action.name
            yield action
        yield verdict(
            use.target,
            use.graph,
            verified=verified.name,
            metrics=measured,
            has_layers=chain.compiled.call not in BORDERS_ALONE,
            name=verdict_name(chain),
        )

    def _shared(self, kind: str, use: Use, make: Callable[[str], Action]) -> Action:
        return self.names.shared(f"{kind}/{use.base}", use, make)


def verdict_name(chain: Chain) -> str:
    return f"verdict/{chain.use.base}@{chain.use.target.chip.name}"
