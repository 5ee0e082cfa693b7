"""A failed compile in the user's words: which node, which operator, why, and what can be done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from qnnbuild.work.ort_log import LINE, Refused, lines
from qnnbuild.work.ort_session import Outcome
from qnnbuild.work.run import WorkError

SHOWN_NODES = 8
LAST_LINES = 6
PACKAGE = re.compile(r"op_pack_path: (?:\./)?([^\s\x1b]+)")


@dataclass(frozen=True, kw_only=True)
class Known:
    """A failure that was seen before: how the runtime words it, what it means, what helped."""

    words: str
    means: str
    hint: str | None = None
    place: str = "graph"


KNOWN = (
    Known(
        words=r"Failed to register op package",
        means="a package of your own operators is refused",
        hint="see whether it has undefined symbols (ldd -r), and was built with the SDK that the "
        "compiler is of (qnnbuild toolchains)",
        place="op_packages",
    ),
    Known(
        words=r"SetupBackend failed",
        means="the compiler does not know this chip",
        hint="chips that it knows: qnnbuild chips",
    ),
    Known(
        words=r"Code: 1002\b",
        means="the compiler cannot lay the graph out in the chip's memory (error 1002)",
        hint="smaller inputs or a quantized model (precision: qdq); "
        "on chips without fp16 most float models end so",
    ),
    Known(
        words=r"assigned to the default CPU EP",
        means="not all nodes can run on the NPU",
        hint="cpu_fallback: allow, or other operators in the model",
    ),
    Known(
        words=r"was inserted using the NHWC format",
        means="the compiler refuses nodes of the graph",
        hint="seen with float models on chips without fp16, with zero points for each channel, "
        "and with a batch of 0",
    ),
    Known(
        words=r"Failed to compose Qnn graph",
        means="the graph cannot be handed to the compiler",
        hint="seen with float64 inside the graph (cast: {float64: float32}) and with options "
        "that the chip does not have",
    ),
    Known(words=r"bad_alloc|bad allocation", means="this machine ran out of memory"),
    Known(
        words=r"No space left on device|Failed to write|Failed to open",
        means="the result could not be written",
    ),
    Known(words=r"Failed to finalize QNN graph", means="the compiler failed on the whole graph"),
)


def explain(graph: str, chip: str, first: Outcome, refused: Sequence[Refused]) -> WorkError:
    """`refused` are the nodes that a verbose second run named, in the user's names."""
    if first.crash:
        return WorkError(
            f"the compiler crashed on '{graph}' for {chip} ({first.crash})",
            place="graph",
            facts=_last_lines(first),
            hint="qnnbuild shell opens a folder with the inputs in place",
        )
    said = first.error or ""
    known = next((one for one in KNOWN if re.search(one.words, f"{said}\n{first.log}")), None)
    means = known.means if known else "the compiler failed"
    hint = known.hint if known else None
    if refused:
        count = "1 node is" if len(refused) == 1 else f"{len(refused)} nodes are"
        means = f"{count} refused"
    packages = dict.fromkeys(PACKAGE.findall(first.log))
    facts = [*(("package", path) for path in packages), *node_facts(refused)]
    facts.append(("the tool says", _one_line(said)))
    if not refused:
        facts += _last_lines(first)
    return WorkError(
        f"'{graph}' does not compile for {chip}: {means}",
        place=known.place if known else "graph",
        facts=facts,
        hint=hint,
    )


def node_facts(refused: Sequence[Refused]) -> Iterable[tuple[str, str]]:
    """One row a node, the first few."""
    for node in refused[:SHOWN_NODES]:
        reason = f": {node.reason}" if node.reason else ""
        yield "node", f"{node.name} ({node.operator}){reason}"
    if len(refused) > SHOWN_NODES:
        yield "and", f"{len(refused) - SHOWN_NODES} more"


def _last_lines(outcome: Outcome) -> list[tuple[str, str]]:
    """The tool's last lines that are not its small talk, without their times."""
    told = [LINE.sub(r"\3", line[line.find("[") :]) for line in lines(outcome.log)]
    text = "\n".join(line.strip()[:200] for line in told[-LAST_LINES:])
    return [("last lines", text)] if text else []


def _one_line(text: str) -> str:
    plain = re.sub(r"\[ONNXRuntimeError\] : \d+ : \w+ : ", "", text)
    return " ".join(plain.split())[:300]
