"""What the runtime's log says: refused options, and the nodes that the NPU does not take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
LINE = re.compile(r"\[([VIWEF]):onnxruntime:[^,\]]*, ([^\]]*)\] (.*)")
REFUSES = re.compile(
    r"\b(invalid|skipped|not valid|malformed|unrecognized|unrecognised|unknown)\b", re.IGNORECASE
)
ABOUT_NODES = ("Unsupported nodes in QNN EP", "QNN.backendValidateOpConfig()")
UNSUPPORTED = re.compile(r"\{ name: (.*?), type: (\w+) \}")
NODE = re.compile(r"\s*Operator type: (\S+) Node name: (.*?) Node index: \d+\s*$")
VALIDATION = re.compile(r"failed for node `[^`]*` of type `(\w+)` with error code (\d+)")
REASON = re.compile(r"\s*REASON : (.*)")


@dataclass(frozen=True, kw_only=True)
class Refused:
    """A node that stays on the CPU, as the log names it."""

    name: str
    operator: str
    reason: str | None = None


def lines(log: str) -> list[str]:
    """The log without colours and without the lines that every session has."""
    plain = COLOUR.sub("", log).splitlines()
    return [line for line in plain if line.strip() and not any(text in line for text in USUAL)]


USUAL = (
    "LIBNATIVE: No alternate configuration",
    "File mapped weights feature is only available",
    "EPContext encryption config unavailable",
    "Failed to create HTP power config id",  # the host has no clocks to set
)


def refused_options(log: str) -> Iterator[str]:
    """Lines by which the plugin says that it did not take what it was given."""
    for line in lines(log):
        found = LINE.search(line)
        if found is None or found[1] not in "WEF":
            continue
        if REFUSES.search(found[3]) and not found[3].startswith(ABOUT_NODES):
            yield found[3].strip()


def refused_nodes(log: str) -> tuple[Refused, ...]:
    """Each node once. A verbose log also has the reasons; the last pass over the graph counts."""
    reasons = dict(_reasons(log))
    named: list[tuple[str, str]] = []
    for line in lines(log):
        if "Unsupported nodes in QNN EP" in line:
            named = UNSUPPORTED.findall(line)
    names = dict(named or reasons.keys())
    return tuple(
        Refused(name=name, operator=operator, reason=reasons.get((name, operator)))
        for name, operator in names.items()
    )


def _reasons(log: str) -> Iterator[tuple[tuple[str, str], str]]:
    """(name, operator) → why, out of the blocks that a verbose log has for each refused node."""
    nodes: list[tuple[str, str]] = []
    last_words = ""
    for line in lines(log):
        node = NODE.match(line)
        reason = REASON.match(line)
        if node:
            nodes.append((node[2], node[1]))
        elif reason:
            yield from ((name, _reason(reason[1], last_words)) for name in nodes)
            nodes, last_words = [], ""
        elif refused := VALIDATION.search(line):
            last_words = (
                f"the compiler does not take {refused[1]} with these types and shapes "
                f"(error {refused[2]})"
            )
        elif "LogNodeSupport] Validation" in line:
            nodes = []


def _reason(reason: str, last_words: str) -> str:
    """The plugin's sentence; where it says nothing, what the compiler said just before."""
    said = re.sub(r"(?<=\.)\w+ node `[^`]*` will not be assigned to QNN EP\.?", "", reason).strip()
    if said.startswith("Failed to add") and last_words:
        return last_words
    return said


def in_users_names(refused: Iterable[Refused], names: Iterable[str]) -> tuple[Refused, ...]:
    """The runtime changes names ("conv_token_1", "mm/MatMulAddFusion"): back by prefix."""
    known = sorted(filter(None, names), key=len, reverse=True)
    mapped = (
        Refused(
            name=next((name for name in known if node.name.startswith(name)), node.name),
            operator=node.operator,
            reason=node.reason,
        )
        for node in refused
    )
    return tuple(dict.fromkeys(mapped))
