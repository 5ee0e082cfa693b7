"""One graph of one cell: what its actions left behind, put together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from qnnbuild.actions.action import Action, OutputOf
from qnnbuild.actions.plan import Plan
from qnnbuild.report.standing import Known
from qnnbuild.report.told import Bar, Compiled, CpuNode, GraphCell, Proof, SampleSet, Sharing
from qnnbuild.steps.debug import CALLS

BINARY = ".bin"


@dataclass(kw_only=True)
class Graphs:
    """Reads each shared thing of a model once."""

    plan: Plan
    known: Known
    proofs: dict[str, Proof] = field(default_factory=dict)
    calibrations: dict[str, SampleSet] = field(default_factory=dict)
    _precisions: dict[str, str] = field(default_factory=dict)

    def cell(
        self,
        graph: str,
        stem: str,
        asked: str,
        compiled: Action,
        *,
        verdict: str | None,
        run_on: str | None,
        on_cpu: Sequence[Mapping[str, Any]] | None,
    ) -> GraphCell:
        """`stem` is the graph's in what `compiled` makes.

        `on_cpu` is what an op trace said of the CPU's nodes, where there is one.
        """
        converted = self._converted(compiled, stem)
        return GraphCell(
            graph=graph,
            asked=asked,
            precision=self._precision(converted, asked),
            compiled=self._compiled(compiled.name, stem, on_cpu),
            proof=self._proof(verdict, run_on),
            calibration=self._calibration(converted),
            layers=compiled.name if verdict and compiled.call in CALLS else None,
        )

    def _converted(self, compiled: Action, stem: str) -> Action | None:
        """What converted a graph; between it and the compile may be a library, or a DLC."""
        for name in (f"model-{stem}", "model"):  # the first where several are compiled together
            if name in compiled.inputs:
                maker = self._maker(compiled, name)
                lowered = maker is not None and maker.step == "dlc"
                return self._maker(maker, "model") if lowered else maker
        for name in (f"library-{stem}", "library"):
            if name in compiled.inputs:
                return self._maker(self._maker(compiled, name), "model")
        return None

    def _maker(self, action: Action | None, name: str) -> Action | None:
        """The action that made the input `name`."""
        source = action.inputs.get(name) if action is not None else None
        return self.plan[source.action] if isinstance(source, OutputOf) else None

    def _precision(self, converted: Action | None, asked: str) -> str:
        """Of a search that is done, what it has found."""
        if converted is None or "quantization" not in converted.outputs:
            return asked
        name = converted.name
        if name not in self._precisions:
            found = self.known.read(name, "quantization", "quantization.json") or {}
            said = found.get("search")
            self._precisions[name] = _found(said) if said else asked
        return self._precisions[name]

    def _compiled(
        self, name: str, stem: str, on_cpu: Sequence[Mapping[str, Any]] | None
    ) -> Compiled | None:
        standing = self.known.standing(name)
        facts = self.known.read(name, "facts", f"{stem}.json")
        record = standing.record
        if record is None or standing.key is None or facts is None:
            return None
        files: Mapping[str, Mapping[str, Any]] = facts["files"]
        binaries = [one["digest"] for file, one in files.items() if file.endswith(BINARY)]
        return Compiled(
            size=sum(int(one["size"]) for one in files.values()),
            seconds=record.seconds,
            made=record.made,
            key=standing.key,
            log=standing.log or "",
            digest=next(iter([*binaries, *(one["digest"] for one in files.values())]), ""),
            nodes=facts["nodes"],
            cpu_nodes=tuple(_cpu_nodes(facts.get("cpu_nodes", ()) if on_cpu is None else on_cpu)),
            cpu_share=facts.get("cpu_share_of_multiply_adds"),
            sdk_build=facts.get("sdk_build"),
            sharing=_sharing(facts.get("shared")),
        )

    def _proof(self, verdict: str | None, run_on: str | None) -> str | None:
        """By the verdict's name; without a verdict the numbers that it would judge."""
        if verdict is None:
            return None
        if verdict not in self.proofs:
            verified = self._maker(self.plan[verdict], "numbers")
            told = self.known.read(verdict, "verdict", "verdict.json")
            judged = told is not None
            if told is None and verified is not None:
                told = self.known.read(verified.name, "numbers", "numbers.json")
            if told is None:
                return None
            samples = self._samples(self._maker(verified, "samples"))
            self.proofs[verdict] = _proof(told, run_on or "", samples, judged=judged)
        return verdict

    def _samples(self, action: Action | None) -> SampleSet | None:
        said = action and self.known.read(action.name, "report", "report.json")
        if not said:
            return None
        return SampleSet(digest=said["digest"], count=said["count"], synthetic=said["synthetic"])

    def _calibration(self, converted: Action | None) -> str | None:
        """A search's tries take it; what converts has only what they made."""
        needs = converted.needs() if converted is not None else ()
        takers = (converted, *(self.plan[need] for need in needs))
        made = next((one for one in (self._maker(t, "feeds") for t in takers) if one), None)
        if made is None:
            return None
        if made.name not in self.calibrations:
            said = self._samples(made)
            if said is None:
                return None
            self.calibrations[made.name] = said
        return made.name


def _sharing(said: Mapping[str, Any] | None) -> Sharing | None:
    if said is None:
        return None
    alone = sum(said["alone_bytes"].values())
    return Sharing(others=tuple(said["with"]), saved=said["saved_bytes"], alone=alone)


def _found(said: Mapping[str, Any]) -> str:
    lifted = len(said.get("lifted", ()))
    return f"{said['word']} + {lifted} in 16 bit" if lifted else str(said["word"])


def _cpu_nodes(said: Sequence[Mapping[str, Any]]) -> Iterator[CpuNode]:
    for one in said:
        yield CpuNode(node=one["node"], operator=one["operator"], reason=one["reason"])


def _proof(
    told: Mapping[str, Any], run_on: str, samples: SampleSet | None, *, judged: bool
) -> Proof:
    outputs = {
        name: _brief(numbers if judged else numbers["all"])
        for name, numbers in told["outputs"].items()
    }
    excused = told.get("excused", {})
    sqnr = [
        one["sqnr_db"] for name, one in outputs.items() if "sqnr_db" in one and name not in excused
    ]
    return Proof(
        chip=run_on,
        ran_on=told["ran_on"]["host"],
        samples=samples,
        compared_with=told["compared_with"] or "nothing",
        why_not=told["why_not"],
        judged=judged,
        sqnr_db=min(sqnr, default=None),
        outputs=outputs,
        excused=excused,
        metrics=told.get("metrics", {}),
        bars=tuple(Bar(**bar) for bar in told.get("bars", ())),
    )


SHOWN = ("sqnr_db", "max_abs", "max_rel", "cosine", "differing", "elements", "worst_sample")


def _brief(numbers: Mapping[str, Any]) -> dict[str, Any]:
    top = numbers.get("top", {})
    told = {name: numbers[name] for name in SHOWN if name in numbers}
    # of what looks like scores of classes; for any other output an agreement means nothing
    return told | ({"top1": top["1"]} if numbers.get("likely_scores") and "1" in top else {})
