"""context for the toolchain `ort`: a session's creation is the compile; then all is read back."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx

from qnnbuild.formats.ctx_onnx import CtxOnnxFacts
from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import NodeFacts, OnnxFacts, read_model
from qnnbuild.work.context_facts import chip_facts, cpu_facts, file_facts, maker_facts, write_facts
from qnnbuild.work.multiply_adds import multiply_adds, share_of
from qnnbuild.work.node_prefix import NODE_PREFIX, prefix_nodes
from qnnbuild.work.ort_failure import explain, node_facts
from qnnbuild.work.ort_log import Refused, in_users_names, refused_nodes, refused_options
from qnnbuild.work.ort_session import VERBOSE, Outcome, Wanted, create
from qnnbuild.work.own_libraries import (
    OPTION,
    crashed_with,
    own_domains,
    own_option,
    put_libraries,
)
from qnnbuild.work.read_back import (
    Compiled,
    check_borders,
    check_chip,
    check_graphs,
    not_good,
    read_back,
)
from qnnbuild.work.run import Run, WorkError

MODEL = "model.onnx"


def context(run: Run) -> None:
    """Inputs "model" and "names" → outputs "context" and "facts".

    The compile runs in the folder of the model, on its bare name, exactly as a script there would:
    the path's text goes into the bytes.
    """
    folder = run.inputs["model"]
    name = f"{run.params['graph']}_ctx.onnx"
    put_libraries(run, folder)
    wanted = compile_wanted(folder, run.params, name)
    story, prepared = compile_now(run, wanted, name)
    compiled = read_back(folder, name)
    on_cpu = story.on_cpu(compiled.ctx, folder / name)
    check_chip(compiled, run.params["soc_model"], run.params["reads_back"])
    check_graphs(compiled)
    check_borders(compiled, prepared)
    load_again(folder, name, run.params)
    facts = {
        **_facts(run.params, compiled, story, on_cpu),
        "cpu_share_of_multiply_adds": story.cpu_share,
    }
    write_facts(run, run.params["graph"], facts)
    for path in compiled.files:
        path.rename(run.outputs["context"] / path.name)


def compile_now(run: Run, wanted: Wanted, ctx_name: str) -> tuple[Story, OnnxFacts]:
    """Have the session made; a WorkError in the user's words where it is not."""
    outcome = create(wanted, Path("compile.log"))
    run.peak_bytes = outcome.peak_bytes
    sys.stderr.write(outcome.log)
    prepared, nodes = prepared_facts(wanted.folder / wanted.model)
    story = Story(run=run, wanted=wanted, nodes=nodes)
    if not outcome.created:
        raise story.failure(outcome)
    for line in refused_options(outcome.log):
        raise WorkError(f"the compiler did not take an option: {line}", place="options")
    prefix_nodes(wanted.folder / ctx_name, run.params.get("node_name_prefix", ""))
    return story, prepared


def compile_wanted(
    folder: Path, params: Mapping[str, Any], ctx_name: str, model: str = MODEL
) -> Wanted:
    """The session that compiles `model`, a path from `folder`."""
    return Wanted(
        folder=folder,
        model=model,
        options={**device(params), **params["options"], **own_option(params)},
        environment=own_domains(params, folder / model),
        entries={
            "ep.context_enable": "1",
            "ep.context_file_path": ctx_name,
            "ep.context_embed_mode": "1" if params["embed"] else "0",
            **fallback(params),
            **({NODE_PREFIX: params["node_name_prefix"]} if "node_name_prefix" in params else {}),
        },
    )


def device(params: Mapping[str, Any]) -> dict[str, str]:
    """The provider's options that say for which chip."""
    return {"backend_type": "htp", "soc_model": str(params["soc_model"])}


def fallback(params: Mapping[str, Any]) -> dict[str, str]:
    """The session's entries that say whether the CPU may run a part."""
    return {} if params["cpu_fallback"] else {"session.disable_cpu_ep_fallback": "1"}


def prepared_facts(path: Path) -> tuple[OnnxFacts, tuple[NodeFacts, ...]]:
    return read_model(mapped(path))


def load_again(folder: Path, ctx_name: str, params: Mapping[str, Any]) -> None:
    """The files load on the host's emulator of the same chip."""
    wanted = Wanted(
        folder=folder,
        model=ctx_name,
        options={**device(params), **own_option(params)},
        entries=fallback(params),
    )
    outcome = create(wanted, Path("load.log"))
    if not outcome.created:
        sys.stderr.write(outcome.log)
        said = outcome.crash or " ".join((outcome.error or "").split())[:300]
        raise not_good("what was compiled does not load again", facts=[("the tool says", said)])


class Story:
    """What is told of nodes: in the user's names, with reasons out of a second, verbose run."""

    def __init__(self, run: Run, wanted: Wanted, nodes: Sequence[NodeFacts]) -> None:
        self.run = run
        self.wanted = wanted
        self.names = [node.name for node in nodes]
        self.cpu_share = 0.0  # of the multiply-adds

    def failure(self, outcome: Outcome) -> WorkError:
        # The second run may meet the deadline; what the first one said is in the log by then.
        sys.stderr.write(f"{outcome.error or outcome.crash}\n")
        if outcome.crash and (packages := self.run.params.get(OPTION)):
            raise crashed_with(packages, outcome.crash)
        refused = self._users(refused_nodes(self._again().log) or refused_nodes(outcome.log))
        chip = str(self.run.params["reads_back"]["soc_type"])
        return explain(self.run.params["graph"], chip, outcome, refused)

    def on_cpu(self, ctx: CtxOnnxFacts, ctx_path: Path) -> tuple[Refused, ...]:
        """Nodes of the ctx.onnx that are no EPContext: these the CPU will run."""
        if ctx.other_nodes == 0:
            if len(ctx.nodes) != 1 and not self.run.params["cpu_fallback"]:
                raise not_good(f"{len(ctx.nodes)} EPContext nodes; one was asked for")
            return ()
        _, nodes = prepared_facts(ctx_path)
        left = [node for node in nodes if not node.op.endswith(":EPContext")]
        reasons = {(r.name, r.operator): r.reason for r in refused_nodes(self._again().log)}
        told = [
            Refused(name=node.name, operator=node.op, reason=reasons.get((node.name, node.op)))
            for node in left
        ]
        in_model = in_users_names(told, self.names)
        self.cpu_share = self._share_of([node.name for node in in_model])
        on_cpu = self._users(told)
        if not self.run.params["cpu_fallback"]:
            raise WorkError(
                f"{len(on_cpu)} nodes would run on the CPU",
                place="graph",
                facts=list(node_facts(on_cpu)),
                hint="cpu_fallback: allow",
            )
        names = ", ".join(f"{node.name} ({node.operator})" for node in on_cpu[:4])
        count = f"{len(on_cpu)} of {len(self.names)} nodes"
        share = f", {self.cpu_share:.2%} of the multiply-adds"
        self.run.warn(f"{count}{share}, run on the CPU: {names}", place="graph")
        return on_cpu

    def _share_of(self, names: Sequence[str]) -> float:
        path = self.wanted.folder / self.wanted.model
        model = onnx.load(str(path), load_external_data=False)
        # a quantizer leaves the shapes of what it adds unsaid
        counts = multiply_adds(onnx.shape_inference.infer_shapes(model))
        return round(share_of(counts, names), 6)

    def _again(self) -> Outcome:
        """The same compile with all its talk. Its files are thrown away: talk can change bytes."""
        entries = {**self.wanted.entries, "ep.context_file_path": "again_ctx.onnx"}
        talkative = Wanted(
            folder=self.wanted.folder,
            model=self.wanted.model,
            options=self.wanted.options,
            entries=entries,
            severity=VERBOSE,
            environment=self.wanted.environment,
        )
        return create(talkative, Path("again.log"))

    def _users(self, refused: Sequence[Refused]) -> tuple[Refused, ...]:
        names = self.run.inputs["names"] / "names.json"  # the compiler's → the user's
        renamed: dict[str, str] = json.loads(names.read_text(encoding="utf-8"))
        return tuple(
            Refused(
                # a node without a name keeps the one that it was given
                name=renamed.get(node.name) or node.name,
                operator=node.operator,
                reason=node.reason,
            )
            for node in in_users_names(refused, self.names)
        )


def _facts(
    params: Mapping[str, Any], compiled: Compiled, story: Story, on_cpu: Sequence[Refused]
) -> dict[str, Any]:
    binary = compiled.binary
    return {
        "graph": params["graph"],
        "chip": chip_facts(binary),
        **maker_facts(binary),
        "settings": dict(binary.settings),
        "options": dict(params["options"]),
        "embedded": bool(params["embed"]),
        "nodes": len(story.names),
        "cpu_nodes": cpu_facts(on_cpu),
        **file_facts(compiled.ctx, compiled.files),
    }
