"""dump for the toolchain `ort`: what the plugin tells of one compile, written beside no binary.

Traces can change the compiled bytes, so each dump is a run of the plugin of its own, and what it
compiles on the way is thrown away. A graph that is refused because nodes would fall to the CPU is
dumped all the same: the refusal comes last, and then a dump is wanted most. To allow the CPU for
that would be another compile: with it the plugin leaves quantizing at the borders to the CPU.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import onnx

from qnnbuild.formats.any_file import read_any
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.op_trace import read_op_trace
from qnnbuild.work.dlc_files import same_bytes
from qnnbuild.work.ort_failure import explain
from qnnbuild.work.ort_log import refused_nodes, refused_options
from qnnbuild.work.ort_session import Wanted, create
from qnnbuild.work.own_libraries import own_domains, own_option, put_libraries
from qnnbuild.work.read_back import not_good
from qnnbuild.work.run import Run
from qnnbuild.work.traced import Names, Node, traced

MODEL = "model.onnx"
REFUSED = "assigned to the default CPU EP"
"""Said of a session that was compiled whole and may not be used, since nodes are left."""

MADE = "dump"
GRAPHS = "graphs"
OP_TRACE = "qnn_op_trace.json"
INPUT_GRAPH = re.compile(r"(.+)\.(\d+)_qnn_ep_input_graph\.json")

Keep = Callable[[Run, Path], list[Path]]
"""Looks at what was written below a folder; gives the files to keep."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """`ahead`: as for a context binary; the plugin writes a DLC only where it compiles to run."""

    options: Mapping[str, str]
    keep: Keep
    ahead: bool = True


def dump(run: Run) -> None:
    """Inputs "model" and "names", "context" for a schematic → output "dump".

    `params`: {kind, graph, chip, and of the compile soc_model, options, cpu_fallback, embed}.
    Folders are relative, so that no file has a place of this machine in it.
    """
    kind = KINDS[run.params["kind"]]
    folder = run.inputs["model"]
    put_libraries(run, folder)
    outcome = create(_wanted(run, folder, kind), Path("dump.log"))
    run.peak_bytes = outcome.peak_bytes
    sys.stderr.write(outcome.log)
    refused = refused_nodes(outcome.log)
    if not outcome.created and REFUSED not in (outcome.error or ""):
        raise explain(run.params["graph"], run.params["chip"], outcome, refused)
    for line in refused_options(outcome.log):
        raise not_good(f"the plugin did not take an option: {line}")
    for path in kind.keep(run, folder):
        _check_places(path)
        path.rename(run.outputs["dump"] / path.name)


def _wanted(run: Run, folder: Path, kind: Kind) -> Wanted:
    params = run.params
    ahead = {
        "ep.context_enable": "1",
        "ep.context_file_path": f"{params['graph']}_ctx.onnx",
        "ep.context_embed_mode": "1" if params.get("embed") else "0",
    }
    return Wanted(
        folder=folder,
        model=MODEL,
        options={
            "backend_type": "htp",
            "soc_model": str(params["soc_model"]),
            **params["options"],
            **own_option(params),
            **kind.options,
        },
        environment=own_domains(params, folder / MODEL),
        entries={
            **(ahead if kind.ahead else {}),
            **({} if params["cpu_fallback"] else {"session.disable_cpu_ep_fallback": "1"}),
        },
    )


def _check_places(path: Path) -> None:
    """No name of the private folder is in the file: it would be another one each time."""
    if str(Path.cwd()).encode() in path.read_bytes():
        raise not_good(f"{path.name} holds the folder that it was made in")


def _op_trace(run: Run, folder: Path) -> list[Path]:
    """The plugin's own file, and op_trace.json: the same in the user's names."""
    (path,) = _written(run, folder / MADE, OP_TRACE)
    try:
        facts = read_op_trace(path.read_bytes())
    except FormatError as error:
        raise not_good(f"{path.name} is not whole: {error}") from None
    nodes = list(_nodes(folder / MODEL))
    renamed = json.loads((run.inputs["names"] / "names.json").read_text(encoding="utf-8"))
    names = Names(nodes, list(_got(_newest(folder / GRAPHS))), renamed)
    told = {"graph": run.params["graph"], "chip": run.params["chip"], **traced(facts, nodes, names)}
    ours = folder / MADE / "op_trace.json"
    text = json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True)
    ours.write_text(text + "\n", encoding="utf-8")
    return [path, ours]


def _nodes(path: Path) -> Iterator[Node]:
    for node in onnx.load(str(path), load_external_data=False).graph.node:
        yield Node(name=node.name, operator=node.op_type, outputs=tuple(node.output))


def _got(graphs: list[Path]) -> Iterator[Node]:
    """The nodes of the graphs that the plugin got."""
    for path in graphs:
        for name, node in json.loads(path.read_bytes())["graph"]["nodes"].items():
            yield Node(name=name, operator=node["type"], outputs=tuple(node["output_names"]))


def _qnn_graph(run: Run, folder: Path) -> list[Path]:
    return _written(run, folder / MADE, "*.json")


def _input_graph(run: Run, folder: Path) -> list[Path]:
    _written(run, folder / MADE, "*_qnn_ep_input_graph.json")
    return _newest(folder / MADE)


def _newest(folder: Path) -> list[Path]:
    """Of each graph the file with the highest number: what was compiled. Others are drafts."""
    newest: dict[str, tuple[int, Path]] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if found := INPUT_GRAPH.fullmatch(path.name):
            one = (int(found[2]), path)
            newest[found[1]] = max(newest.get(found[1], one), one)
    return [path for _, path in newest.values()]


def _dlc(run: Run, folder: Path) -> list[Path]:
    """Read back: a whole DLC with a graph in each. The time of day in it goes."""
    paths = _written(run, folder / MADE, "*.dlc")
    for path in paths:
        try:
            same_bytes(path)
            facts = read_any(path)
        except FormatError as error:
            raise not_good(f"{path.name} is not whole: {error}") from None
        if not isinstance(facts, DlcFacts) or not facts.graphs:
            raise not_good(f"{path.name} holds no graph")
    return paths


def _saver(run: Run, folder: Path) -> list[Path]:
    """Both files: the calls as a C program, and the tensors that it reads."""
    made = folder / "saver_output"
    calls, tensors = _written(run, made, "saver_output.c") + _written(run, made, "params.bin")
    if b"graphFinalize" not in calls.read_bytes():
        raise not_good("the saver wrote no graph to its end")
    return [calls, tensors]


def _schematic(run: Run, folder: Path) -> list[Path]:
    """Of the binary that ships, where this compile has made that very one.

    Else what it has made comes along: seen with magika, whose bytes depend on the compiler's
    memory. An optrace of such a graph is taken with the binary beside its schematic.
    """
    made = _written(run, folder, "*_schematic.bin")
    graph = run.params["graph"]
    ours = [path for path in sorted(folder.glob(f"{graph}_ctx*")) if path not in made]
    shipped = [path for path in sorted(run.inputs["context"].iterdir()) if path.suffix == ".bin"]
    binaries = shipped or sorted(run.inputs["context"].iterdir())
    if all(_same(folder / path.name, path) for path in binaries):
        return made
    run.warn(
        f"with optrace '{graph}' becomes another binary for {run.params['chip']} than the one that "
        "ships: run the one that lies beside the schematic",
        place="dumps",
    )
    return [*made, *ours]


def _same(again: Path, shipped: Path) -> bool:
    return again.is_file() and again.read_bytes() == shipped.read_bytes()


def _written(run: Run, folder: Path, pattern: str) -> list[Path]:
    found = [path for path in sorted(folder.glob(pattern)) if path.stat().st_size]
    if not found:
        raise not_good(
            f"the plugin ended well and wrote no {run.params['kind']} of '{run.params['graph']}'"
        )
    return found


KINDS: Mapping[str, Kind] = {
    "op_trace": Kind(
        options={
            "enable_framework_op_trace": "1",
            "framework_op_trace_dir": MADE,
            # has the types of the nodes that the trace names
            "dump_qnn_ep_input_graph": "1",
            "dump_qnn_ep_input_graph_dir": GRAPHS,
        },
        keep=_op_trace,
    ),
    "qnn_graph": Kind(
        options={"dump_json_qnn_graph": "1", "json_qnn_graph_dir": MADE}, keep=_qnn_graph
    ),
    "input_graph": Kind(
        options={"dump_qnn_ep_input_graph": "1", "dump_qnn_ep_input_graph_dir": MADE},
        keep=_input_graph,
    ),
    "dlc": Kind(
        options={"dump_qnn_ir_dlc": "1", "dump_qnn_ir_dlc_dir": MADE}, keep=_dlc, ahead=False
    ),
    # the CSV holds how long this compile took, and goes
    "schematic": Kind(
        options={"profiling_level": "optrace", "profiling_file_path": "profile.csv"},
        keep=_schematic,
    ),
    # the HTP's own lowering, recorded; `backend_type: saver` would record a chip of no kind
    "saver": Kind(options={"qnn_saver_path": "libQnnSaver.so"}, keep=_saver, ahead=False),
}
