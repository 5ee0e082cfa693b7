"""context for graphs that share weights: one binary, and for each a ctx.onnx that points to it.

Measured with onnxruntime-qnn 2.7.0: sessions one after the other in one process, with
ep.share_ep_contexts, write a ctx.onnx each; the last, with ep.stop_share_ep_contexts, writes the
binary, which is called after the first. Graphs in it are called after the paths of their models,
so two equal models have two names. VTCM and how hard the compiler tries are each graph's own; what
counts for the whole binary is taken from the first session, see toolchains/ort_sharing.py.

Each graph is compiled alone first and as any other: what is wrong with one is told of it and in
the words of a single compile, what sharing saves is measured, and there is something to run. For
the host's emulator cannot load a binary with shared weights: libQnnHtp calls a function that it has
on a device only, and dies. But it runs the graphs in the process that writes the binary, so there
each has to give the answers that it gives alone.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.context_ort import MODEL, compile_wanted, context, prepared_facts
from qnnbuild.work.node_prefix import prefix_nodes
from qnnbuild.work.ort_log import refused_options
from qnnbuild.work.ort_session import Outcome, Wanted, create_in_turn
from qnnbuild.work.read_back import (
    Compiled,
    check_borders,
    check_chip,
    check_graphs,
    not_good,
    read_back,
)
from qnnbuild.work.run import Run, WorkError
from qnnbuild.work.same_answers import answer_alone, asked, check_same_answers

TOGETHER = "together"
LITTLE = 0.05
"""Two graphs without a weight in common save this much and less: what each binary has once."""


@dataclass(frozen=True, kw_only=True)
class Single:
    """One of the graphs, compiled alone; called by its stem, since graphs may be namesakes."""

    stem: str
    params: Mapping[str, Any]  # those that a context action of its own would have
    facts: Mapping[str, Any]

    @property
    def ctx_name(self) -> str:
        return f"{self.stem}_ctx.onnx"

    @property
    def size(self) -> int:
        """Of its binary."""
        return sum(f["size"] for name, f in self.facts["files"].items() if name.endswith(".bin"))


def shared(run: Run) -> None:
    """Inputs "model-<stem>" and "names-<stem>" → outputs "context" and "facts" of what ships.

    Outputs "alone" and "alone-facts" have the same of each graph compiled alone.
    """
    singles = [_alone(run, stem, run.params["members"][stem]) for stem in run.params["order"]]
    folder = Path(TOGETHER)
    folder.mkdir()
    for single in singles:
        answer_alone(run.outputs["alone"], single.ctx_name, single.params, folder, single.stem)
        run.inputs[f"model-{single.stem}"].rename(folder / single.stem)
    wanted = [_together(folder, one, is_last=one is singles[-1]) for one in singles]
    outcome = create_in_turn(wanted, Path("compile.log"))
    run.peak_bytes = max(run.peak_bytes, outcome.peak_bytes)
    sys.stderr.write(outcome.log)
    _check_created(outcome, folder, singles)
    for single in singles:
        check_same_answers(folder, single.stem)
    compiled = {single.stem: _read_back(folder, single) for single in singles}
    _check_together(list(compiled.values()))
    saving = _saving(run, singles, compiled[singles[0].stem])
    for single in singles:
        _tell(run, single, compiled[single.stem], saving)
    for path in {path for one in compiled.values() for path in one.files}:
        path.rename(run.outputs["context"] / path.name)


def _alone(run: Run, stem: str, params: Mapping[str, Any]) -> Single:
    """As a context action of its own does it."""
    outputs = {"context": run.outputs["alone"], "facts": run.outputs["alone-facts"]}
    inputs = {name: run.inputs[f"{name}-{stem}"] for name in ("model", "names")}
    one = Run(params=params, inputs=inputs, outputs=outputs)
    try:
        context(one)
    except WorkError as error:
        raise _of(stem, error) from error
    for notice in one.warnings:
        run.warn(f"{stem}: {notice.message}", place=f"{stem}:{notice.place}")
    run.peak_bytes = max(run.peak_bytes, one.peak_bytes)
    told = outputs["facts"] / f"{stem}.json"
    return Single(stem=stem, params=params, facts=json.loads(told.read_text(encoding="utf-8")))


def _together(folder: Path, single: Single, *, is_last: bool) -> Wanted:
    alone = compile_wanted(folder, single.params, single.ctx_name, f"{single.stem}/{MODEL}")
    last = {"ep.stop_share_ep_contexts": "1"} if is_last else {}
    entries = {**alone.entries, "ep.share_ep_contexts": "1", **last}
    return asked(replace(alone, entries=entries), single.stem)


def _check_created(outcome: Outcome, folder: Path, singles: Sequence[Single]) -> None:
    """Each session writes its ctx.onnx when it is done, so the first without one has failed."""
    if not outcome.created:
        missing = (s.stem for s in singles if not (folder / s.ctx_name).is_file())
        said = outcome.crash or " ".join((outcome.error or "").split())[:300]
        stem = next(missing, singles[-1].stem)
        raise WorkError(
            f"'{stem}' compiles alone, and not with others in one binary",
            place=f"{stem}:graph",
            facts=[("the tool says", said)],
            hint="context: {share_weights: false}",
        )
    for line in refused_options(outcome.log):
        raise WorkError(f"the compiler did not take an option: {line}", place="options")


def _read_back(folder: Path, single: Single) -> Compiled:
    """All that a single binary is held against, for one graph of a shared one."""
    prefix_nodes(folder / single.ctx_name, single.params.get("node_name_prefix", ""))
    try:
        compiled = read_back(folder, single.ctx_name)
        check_chip(compiled, single.params["soc_model"], single.params["reads_back"])
        check_graphs(compiled)
        model, _ = prepared_facts(folder / single.stem / MODEL)
        check_borders(compiled, model)
        nodes = (len(compiled.ctx.nodes), compiled.ctx.other_nodes)
        alone = (single.facts["ep_context_nodes"], len(single.facts["cpu_nodes"]))
        if nodes != alone:
            facts = [("together", f"{nodes[0]} on the NPU, {nodes[1]} on the CPU")]
            facts.append(("alone", f"{alone[0]} on the NPU, {alone[1]} on the CPU"))
            raise not_good("compiled with others, other parts of it run on the CPU", facts=facts)
    except WorkError as error:
        raise _of(single.stem, error) from error
    return compiled


def _check_together(compiled: Sequence[Compiled]) -> None:
    """One binary, and in it each graph that a ctx.onnx names, once, and no other."""
    binaries = {path for one in compiled for path in one.files if path.suffix == ".bin"}
    if len(binaries) != 1:
        raise not_good(f"one binary was asked for, there are {len(binaries)}")
    named = [node.partition for one in compiled for node in one.ctx.nodes]
    inside = [graph.name for graph in compiled[0].binary.graphs]
    if sorted(named) != sorted(inside):
        facts = [("named", ", ".join(sorted(named))), ("in the binary", ", ".join(sorted(inside)))]
        raise not_good("the ctx.onnx files name other graphs than the binary has", facts=facts)


def _saving(run: Run, singles: Sequence[Single], compiled: Compiled) -> dict[str, Any]:
    """Bytes of the one binary and of those that the graphs would have alone."""
    (binary,) = (path for path in compiled.files if path.suffix == ".bin")
    size, alone = binary.stat().st_size, {single.stem: single.size for single in singles}
    saved = sum(alone.values()) - size
    if saved < LITTLE * sum(alone.values()):
        run.warn(
            f"sharing weights saves {saved} of {sum(alone.values())} bytes: "
            "the graphs have hardly any in common",
            place="context.share_weights",
        )
    return {"binary": binary.name, "bytes": size, "alone_bytes": alone, "saved_bytes": saved}


def _tell(run: Run, single: Single, compiled: Compiled, saving: Mapping[str, Any]) -> None:
    others = [stem for stem in saving["alone_bytes"] if stem != single.stem]
    facts = {
        **single.facts,
        "settings": dict(compiled.binary.settings),
        "graphs_in_binary": [graph.name for graph in compiled.binary.graphs],
        "files": {
            path.name: {"digest": digest_file(path), "size": path.stat().st_size}
            for path in compiled.files
        },
        "shared": {"with": others, **saving},
    }
    text = json.dumps(facts, indent=1, ensure_ascii=False, sort_keys=True)
    (run.outputs["facts"] / f"{single.stem}.json").write_text(text + "\n", encoding="utf-8")


def _of(stem: str, error: WorkError) -> WorkError:
    """The same, said of one of several graphs."""
    return WorkError(
        f"{stem}: {error.message}",
        place=f"{stem}:{error.place}",
        facts=error.facts,
        hint=error.hint,
        exit_code=error.exit_code,
    )
