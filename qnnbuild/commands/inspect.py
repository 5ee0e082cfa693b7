"""qnnbuild inspect FILE…: what a context binary, ctx.onnx, DLC or ONNX is made for; profiles."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from qnnbuild.commands import times
from qnnbuild.commands.columns import print_json
from qnnbuild.digest import Json
from qnnbuild.errors import NotGood, NothingMatches, Problem
from qnnbuild.formats.any_file import FileFacts, read_any
from qnnbuild.formats.chrome_trace import ChromeTraceFacts
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.ctx_onnx import CtxOnnxFacts, EpContextNode
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.onnx_file import OnnxFacts
from qnnbuild.formats.op_trace import OpTraceFacts
from qnnbuild.formats.profile_csv import ProfileFacts
from qnnbuild.formats.tensor import GraphFacts, TensorFacts
from qnnbuild.report.profile import ProfileRow
from qnnbuild.text.render import terminal
from qnnbuild.text.shown import shown

LABEL = 12
MANY = 8
"""So many operators are named; the rest is counted."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """What was found at one path: facts or an error, and the binaries that it points to."""

    path: str
    facts: FileFacts | None = None
    error: str | None = None
    exit_code: int = 0
    binaries: tuple[Finding, ...] = ()
    rows: tuple[ProfileRow, ...] = ()  # of a profile


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="whoever made it")
    parser.add_argument("--json", action="store_true", help="the facts as data")


def run(args: Namespace) -> int:
    return inspect(args.files, as_json=args.json)


def inspect(paths: Sequence[Path], *, as_json: bool = False) -> int:
    """Print what each file is made for. The exit code is the worst that was found."""
    findings = [look_at(path) for path in paths]
    if as_json:
        print_json([_plain(finding) for finding in findings])
    else:
        blocks = ["\n".join(_describe(finding)) for finding in findings if finding.facts]
        if blocks:
            print("\n\n".join(blocks))
    problems = [Problem(message=text) for finding in findings for text in _errors(finding)]
    print(shown(terminal(problems), os.environ), end="", file=sys.stderr)
    return max((_worst(finding) for finding in findings), default=0)


def look_at(path: Path) -> Finding:
    """Read a file, and the binaries that a ctx.onnx names beside itself."""
    try:
        facts = read_any(path)
    except FileNotFoundError:
        return Finding(path=str(path), error="no such file", exit_code=NothingMatches.exit_code)
    except OSError as error:
        reason = error.strerror or str(error)
        return Finding(path=str(path), error=reason, exit_code=NothingMatches.exit_code)
    except FormatError as error:
        return Finding(path=str(path), error=str(error), exit_code=NotGood.exit_code)
    if isinstance(facts, OnnxFacts):
        return _with_side_files(path, facts)
    if isinstance(facts, ProfileFacts | ChromeTraceFacts):
        return Finding(path=str(path), facts=facts, rows=tuple(times.rows_of(path, facts)))
    if not isinstance(facts, CtxOnnxFacts):
        return Finding(path=str(path), facts=facts)
    named = sorted({(node.file or "") for node in facts.nodes} - {""})
    return Finding(
        path=str(path), facts=facts, binaries=tuple(_beside(path, facts, n) for n in named)
    )


def _with_side_files(path: Path, facts: OnnxFacts) -> Finding:
    """A side file that is missing or too short is told: tools fill what is missing with zeros."""
    for side in facts.side_files:
        place = path.parent / side.name
        if not place.is_file():
            error = f"its side file '{side.name}' is not there"
        elif place.stat().st_size < side.needs:
            there = f"{place.stat().st_size:,} bytes of at least {side.needs:,}"
            error = f"its side file '{side.name}' is cut short: {there}"
        else:
            continue
        return Finding(path=str(path), facts=facts, error=error, exit_code=NotGood.exit_code)
    return Finding(path=str(path), facts=facts)


def _beside(path: Path, facts: CtxOnnxFacts, name: str) -> Finding:
    inside = PurePosixPath(name)
    if inside.is_absolute() or ".." in inside.parts:
        return Finding(
            path=name,
            error=f"{path} names a binary outside of its folder",
            exit_code=NotGood.exit_code,
        )
    found = look_at(path.parent / name)
    if found.facts is None:
        return Finding(path=found.path, error=found.error, exit_code=NotGood.exit_code)
    wanted = {node.partition for node in facts.nodes if node.file == name}
    missing = sorted(wanted - {graph.name for graph in _graphs(found.facts)})
    if missing:
        return Finding(
            path=found.path,
            facts=found.facts,
            error=f"{path.name} wants the graph '{missing[0]}', which is not in it",
            exit_code=NotGood.exit_code,
        )
    return found


def _graphs(facts: FileFacts) -> Iterator[GraphFacts]:
    if isinstance(facts, ContextFacts):
        yield from facts.graphs
    elif isinstance(facts, DlcFacts):
        for context in facts.contexts:
            yield from context.graphs


def _errors(finding: Finding) -> Iterator[str]:
    if finding.error:
        yield f"{finding.path}: {finding.error}"
    for binary in finding.binaries:
        yield from _errors(binary)


def _worst(finding: Finding) -> int:
    return max([finding.exit_code, *(_worst(binary) for binary in finding.binaries)])


def _plain(finding: Finding) -> dict[str, Json]:
    plain: dict[str, Json] = {"path": finding.path}
    if finding.facts is not None:
        plain |= asdict(finding.facts)
    if finding.error:
        plain["error"] = finding.error
    if finding.rows:
        plain["rows"] = [asdict(row) for row in finding.rows]
    if finding.binaries:
        plain["binaries"] = [_plain(binary) for binary in finding.binaries]
    return plain


def _describe(finding: Finding) -> Iterator[str]:
    facts = finding.facts
    if facts is None:
        return
    yield f"{finding.path}: {facts.kind}, {size_text(facts.size)}"
    if isinstance(facts, ContextFacts):
        yield from _context(facts)
    elif isinstance(facts, DlcFacts):
        yield from _dlc(facts)
    elif isinstance(facts, CtxOnnxFacts):
        yield from _ctx_onnx(facts)
    elif isinstance(facts, OnnxFacts):
        yield from _onnx(facts)
    else:
        yield from (_line(label, text) for label, text in _times(facts, finding.rows))
    for binary in finding.binaries:
        yield from (f"  {line}" for line in _describe(binary))


def _times(
    facts: OpTraceFacts | ProfileFacts | ChromeTraceFacts, rows: Sequence[ProfileRow]
) -> Iterator[times.Line]:
    if isinstance(facts, OpTraceFacts):
        return times.op_trace(facts)
    if isinstance(facts, ProfileFacts):
        return times.profile(facts, rows)
    return times.chrome_trace(facts, rows)


def _context(facts: ContextFacts) -> Iterator[str]:
    model = f" (soc_model {facts.soc_model})" if facts.soc_model else ""
    limits = [
        f"HTP v{facts.arch}" if facts.arch else "",
        f"{facts.vtcm_mb:g} MB VTCM" if facts.vtcm_mb else "",
        f"{facts.hvx_threads} HVX threads" if facts.hvx_threads else "",
    ]
    yield _line("chip", ", ".join([f"{facts.soc_type or '?'}{model}", *filter(None, limits)]))
    level = facts.settings.get("O")
    yield _line("made by", f"QAIRT {facts.sdk_build or '?'}" + (f", O={level}" if level else ""))
    yield from _notes(facts.notes)
    for graph in facts.graphs:
        yield from _graph(graph)


def _dlc(facts: DlcFacts) -> Iterator[str]:
    if facts.converter:
        yield _line("made by", facts.converter)
    for record in facts.records:
        yield _line("record", f"{record.name}, {size_text(record.size)}")
    yield from _notes(facts.notes)
    for graph in facts.graphs:
        yield from _graph(graph)
    for context in facts.contexts:
        yield f"  {context.record}: {context.kind}, {size_text(context.size)}"
        yield from (f"  {line}" for line in _context(context))


def _ctx_onnx(facts: CtxOnnxFacts) -> Iterator[str]:
    if facts.soc_models:
        yield _line("soc_model", ", ".join(str(model) for model in facts.soc_models))
    if facts.other_nodes:
        yield _line("on the CPU", _count(facts.other_nodes, "node"))
    for node in facts.nodes:
        yield _line("EPContext", _ep_context(node))
    yield from _tensors(facts.onnx.inputs, facts.onnx.outputs)
    for node in facts.nodes:
        if node.embedded is None:
            continue
        yield f"  inside: {node.embedded.kind}, {size_text(node.embedded.size)}"
        inner = node.embedded
        lines = _context(inner) if isinstance(inner, ContextFacts) else _dlc(inner)
        yield from (f"  {line}" for line in lines)


def _ep_context(node: EpContextNode) -> str:
    where = f"in {node.file}" if node.file else "embedded" if node.main else "in the same binary"
    return f"{node.partition}, {where}" + (", several chips" if node.multi_chip else "")


def _onnx(facts: OnnxFacts) -> Iterator[str]:
    opsets = [f"{domain or 'ai.onnx'} {version}" for domain, version in facts.opsets.items()]
    yield _line("opset", f"{', '.join(opsets)}; IR {facts.ir_version}")
    if facts.producer:
        yield _line("made by", facts.producer)
    quantized = ", quantized (QDQ)" if facts.quantized else ""
    yield _line("weights", f"{facts.weights:,} numbers{quantized}")
    for side in facts.side_files:
        yield _line("side file", f"{side.name}, at least {size_text(side.needs)}")
    yield _line("operators", _operators(facts.operators))
    yield from _tensors(facts.inputs, facts.outputs)


def _graph(graph: GraphFacts) -> Iterator[str]:
    yield _line("graph", graph.name)
    if graph.operators:
        yield _line("operators", _operators(graph.operators))
    yield from _tensors(graph.inputs, graph.outputs)


def _tensors(inputs: Sequence[TensorFacts], outputs: Sequence[TensorFacts]) -> Iterator[str]:
    width = max((len(tensor.name) for tensor in (*inputs, *outputs)), default=0)
    for label, tensors in (("input", inputs), ("output", outputs)):
        for tensor in tensors:
            shape = "×".join(str(size) for size in tensor.shape) or "scalar"
            text = f"{tensor.name:<{width}}  {tensor.dtype:<7}  {shape}"
            if tensor.scale is not None:
                text += f"  scale {tensor.scale:.6g}, zero point {tensor.zero_point}"
            yield _line(label, text)


def _notes(notes: Sequence[str]) -> Iterator[str]:
    for note in notes:
        yield _line("note", note)


def _operators(operators: Sequence[tuple[str, int]]) -> str:
    named = [f"{name} {count}" for name, count in operators[:MANY]]
    rest = sum(count for _, count in operators[MANY:])
    return ", ".join(named) + (f", {rest} of other kinds" if rest else "") if named else "none"


def _count(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def _line(label: str, text: str) -> str:
    return f"  {label:<{LABEL}}{text}"


def size_text(size: int) -> str:
    """A size for people, in the units of 1024 that tools show."""
    if size < 1024:
        return _count(size, "byte")
    scaled, unit = size / 1024, "KB"
    for larger in ("MB", "GB"):
        if scaled < 1024:
            break
        scaled, unit = scaled / 1024, larger
    return f"{scaled:.0f} {unit}" if scaled >= 10 else f"{scaled:.1f} {unit}"
