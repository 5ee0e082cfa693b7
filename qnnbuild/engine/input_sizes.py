"""How large a file can be, by what it is for: what is larger is none of that kind and not read."""

from __future__ import annotations

import os
from pathlib import Path

from qnnbuild.actions.action import Action, SampleFiles, SourceOnnx
from qnnbuild.errors import RecipeError, Span
from qnnbuild.formats.input_list import LIST

ONNX = "an ONNX file"
XML = "a definition of operators"
SAMPLES = "an input_list"

MOST = {
    ONNX: (2 << 30) - 1,  # of a message of protobuf; weights beyond that are in side files
    XML: 16 << 20,
    SAMPLES: 8 << 20,
    "a licence": 4 << 20,
    "a list of requirements": 4 << 20,
    "an override": 64 << 20,
    "a file of encodings": 1 << 30,
}
"""Kinds → how many bytes they may have: a hundred times what is usual."""

TEXTS = {
    "license": "a licence",
    "requirements": "a list of requirements",
    "override": "an override",
    "encodings": "a file of encodings",
    "xml": XML,
}
"""Inputs that are one text."""

HINTS = {ONNX: "put its weights into a side file: onnx.save(…, save_as_external_data=True)"}


def check_size(action: Action, name: str, path: Path, shown: str, at: Span | None) -> None:
    """Raises RecipeError for a file of an input that is larger than its kind.

    Side files and samples may be as large as they like: they are never read as a whole. What is not
    there is told by whoever takes it.
    """
    what = _kind(action, name, path)
    if what is None or not os.path.isfile(path) or (size := path.stat().st_size) <= MOST[what]:
        return
    raise RecipeError(
        f"{shown} is too large for {what}",
        at=at,
        facts=[("size", f"{size:,} bytes"), ("at most", f"{MOST[what]:,} bytes")],
        hint=HINTS.get(what, "is this the right file?"),
    )


def _kind(action: Action, name: str, path: Path) -> str | None:
    source = action.inputs[name]
    ending = path.suffix.lower()
    if isinstance(source, SourceOnnx):
        return ONNX if path.name == Path(source.path).name else None
    if isinstance(source, SampleFiles):
        return SAMPLES if ending == LIST else None
    if action.step == "packages" and ending == ".xml":
        return XML
    return TEXTS.get(name)
