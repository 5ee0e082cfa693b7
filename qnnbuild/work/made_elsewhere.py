"""Files that were compiled or prepared elsewhere, as a fetch brings them: whole, of the kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from qnnbuild.formats.any_file import FileFacts, read_any
from qnnbuild.formats.context_binary import ContextFacts
from qnnbuild.formats.dlc import DlcFacts
from qnnbuild.formats.format_error import FormatError
from qnnbuild.work.run import WorkError

COMPILED, GENIE = "compiled", "genie"
MADE: Mapping[str | None, str] = {COMPILED: "model.bin", GENIE: "model.dlc"}
"""The recipe's word → what the file is called in the output of its fetch."""


def take_made(source: Path, made: str, out: Path) -> None:
    """The one file of `source`, a folder."""
    files = sorted(path for path in source.rglob("*") if path.is_file())
    if len(files) != 1:
        raise WorkError(
            f"one file is wanted, the pattern matches {len(files)}",
            place="source.file",
            facts=[("they are", ", ".join(path.name for path in files[:4]))],
            exit_code=2,
        )
    check_made(files[0], made, shown=files[0].name)
    files[0].replace(out / MADE[made])


def check_made(path: Path, made: str, *, shown: str) -> None:
    """Raise a WorkError that says what `path` is, when it is not what the precision says."""
    try:
        facts = read_any(path)
    except FormatError as error:
        raise _not_it(shown, made, str(error), "") from None
    _CHECKS[made](facts, shown)


def _compiled(facts: FileFacts, shown: str) -> None:
    if isinstance(facts, DlcFacts) and facts.contexts:
        raise _not_it(
            shown,
            COMPILED,
            f"it holds contexts for {len(facts.contexts)} chips",
            "qnnbuild strip takes one chip out of it",
        )
    if not isinstance(facts, ContextFacts):
        raise _not_it(shown, COMPILED, f"it is a {facts.kind}", _COMPILED_HINTS.get(facts.kind, ""))
    if not facts.graphs:
        raise _not_it(shown, COMPILED, "; ".join(facts.notes) or "it holds no graph", "")


def _genie(facts: FileFacts, shown: str) -> None:
    if not isinstance(facts, DlcFacts):
        hint = _GENIE_HINTS.get(facts.kind, "the SDK's tools prepare a DLC for Genie")
        raise _not_it(shown, GENIE, f"it is a {facts.kind}", hint)


_CHECKS: Mapping[str, Callable[[FileFacts, str], None]] = {COMPILED: _compiled, GENIE: _genie}
_KINDS = {COMPILED: "context binary", GENIE: "DLC"}
_COMPILED_HINTS = {
    "DLC": "the SDK's qnn-context-binary-generator compiles a DLC; precision: genie is for one "
    "that Genie runs",
    "ONNX": "without precision: compiled it is compiled here",
    "ctx.onnx": "name the binary that it stands for",
}
_GENIE_HINTS = {"context binary": "precision: compiled is for context binaries"}


def _not_it(shown: str, made: str, why: str, hint: str) -> WorkError:
    return WorkError(
        f"'{shown}' is no {_KINDS[made]} that can be taken: {why}",
        place="source",
        hint=hint or None,
        exit_code=2,
    )
