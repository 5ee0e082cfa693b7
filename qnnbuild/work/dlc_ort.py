"""dlc: what the toolchain `ort` has converted, as a DLC that the SDK compiles. Knows no chip.

The plugin builds the graph as for the HTP and gives it to the library that writes DLCs. Without a
chip it writes the very bytes that it writes for any (onnxruntime-qnn 2.7.0; SM8350, SM8450, SM8750;
a float model and one quantized to w8a16).
"""

from __future__ import annotations

import sys
from pathlib import Path

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.mapped import mapped
from qnnbuild.formats.onnx_file import read_model
from qnnbuild.formats.tensor import GraphFacts
from qnnbuild.work.dlc_files import graph_in, same_bytes
from qnnbuild.work.ort_failure import explain
from qnnbuild.work.ort_log import refused_nodes, refused_options
from qnnbuild.work.ort_session import Outcome, Wanted, create
from qnnbuild.work.read_back import not_good
from qnnbuild.work.run import Run, WorkError

MADE = "dump"
REFUSED = "assigned to the default CPU EP"


def dlc(run: Run) -> None:
    """Input "model" (ONNX) → output "model": `<stem>.dlc`. `params`: graph, stem, options.

    The ONNX file is called after the graph: its path is what the graph's name in the DLC is made
    from, and two graphs of one binary may not have the same.
    """
    folder, stem = run.inputs["model"], run.params["stem"]
    model = folder / "model.onnx"
    borders = _borders(model)
    model = model.rename(folder / f"{stem}.onnx")
    outcome = create(_wanted(run, folder, model.name), Path("dlc.log"))
    run.peak_bytes = outcome.peak_bytes
    sys.stderr.write(outcome.log)
    if not outcome.created:
        raise _failure(run.params["graph"], outcome)
    for line in refused_options(outcome.log):
        raise not_good(f"the plugin did not take an option: {line}")
    made = sorted((folder / MADE).glob("*.dlc")) if (folder / MADE).is_dir() else []
    if len(made) != 1:
        raise not_good(f"the plugin ended well and wrote {len(made)} DLCs, not one")
    path = made[0].rename(run.outputs["model"] / f"{stem}.dlc")
    try:
        same_bytes(path)
        graph = graph_in(path)
    except FormatError as error:
        raise not_good(f"{path.name} is not whole: {error}") from None
    if graph is None:
        raise not_good(f"the plugin wrote {path.name} in a form that is not known")
    _check_borders(graph, borders)


def _failure(graph: str, outcome: Outcome) -> WorkError:
    error = explain(graph, "the HTP", outcome, refused_nodes(outcome.log))
    if REFUSED in (outcome.error or ""):
        error.hint = (
            "other operators in the model; options: {ort: {skip_backend_op_validation: 1}} where "
            "only newer chips have one"
        )
    return error


def _borders(path: Path) -> tuple[set[str], set[str]]:
    """Names of the inputs and of the outputs."""
    facts, _ = read_model(mapped(path))
    return {one.name for one in facts.inputs}, {one.name for one in facts.outputs}


def _wanted(run: Run, folder: Path, model: str) -> Wanted:
    return Wanted(
        folder=folder,
        model=model,
        options={
            "backend_type": "htp",
            **run.params["options"],
            "dump_qnn_ir_dlc": "1",
            "dump_qnn_ir_dlc_dir": MADE,
        },
        entries={"session.disable_cpu_ep_fallback": "1"},
    )


def _check_borders(graph: GraphFacts, borders: tuple[set[str], set[str]]) -> None:
    """Inputs and outputs are those of the ONNX file, by name."""
    for what, tensors, wanted in zip(
        ("inputs", "outputs"), (graph.inputs, graph.outputs), borders, strict=True
    ):
        found = {one.name for one in tensors}
        if found != wanted:
            raise not_good(
                f"the DLC has the {what} {', '.join(sorted(found)) or 'none'}; the model has "
                f"{', '.join(sorted(wanted))}"
            )
