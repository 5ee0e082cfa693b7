"""Files that were compiled or prepared elsewhere: whole, and of the kind that the recipe says."""

from __future__ import annotations

from pathlib import Path

from qnnbuild.formats.any_file import FileFacts, read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.work.made_files import COMPILED, GENIE
from qnnbuild.work.run import WorkError


def read_compiled(path: Path) -> ContextFacts:
    """Raise a WorkError that says what `path` is, when it is no context binary for one chip."""
    facts = _read(path, COMPILED)
    if isinstance(facts, DlcFacts) and facts.contexts:
        count = len(facts.contexts)
        raise _not_it(
            COMPILED, f"it holds contexts for {count} chips", "qnnbuild strip takes one chip of it"
        )
    if not isinstance(facts, ContextFacts):
        raise _not_it(COMPILED, f"it is {_a(facts.kind)}", _COMPILED_HINTS.get(facts.kind, ""))
    if not facts.graphs:
        raise _not_it(COMPILED, "; ".join(facts.notes) or "it holds no graph", "")
    return facts


def read_prepared(path: Path) -> DlcFacts:
    """The same of a DLC for Genie."""
    facts = _read(path, GENIE)
    if not isinstance(facts, DlcFacts):
        hint = _GENIE_HINTS.get(facts.kind, "the SDK's tools prepare a DLC for Genie")
        raise _not_it(GENIE, f"it is {_a(facts.kind)}", hint)
    return facts


def _read(path: Path, made: str) -> FileFacts:
    try:
        return read_any(path)
    except FormatError as error:
        raise _not_it(made, str(error), "") from None


def _a(kind: str) -> str:
    return f"an {kind} file" if kind == "ONNX" else f"a {kind}"


_KINDS = {COMPILED: "context binary", GENIE: "DLC"}
_COMPILED_HINTS = {
    "DLC": "the SDK's qnn-context-binary-generator compiles a DLC; precision: genie is for one "
    "that Genie runs",
    "ONNX": "without precision: compiled it is compiled here",
    "ctx.onnx": "name the binary that it stands for",
}
_GENIE_HINTS = {"context binary": "precision: compiled is for context binaries"}


def _not_it(made: str, why: str, hint: str) -> WorkError:
    return WorkError(
        f"the source is no {_KINDS[made]} that can be taken: {why}",
        hint=hint or None,
        exit_code=2,
    )
