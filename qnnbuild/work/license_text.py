"""Licence files as they come: any encoding, any line ends."""

from __future__ import annotations

from pathlib import Path

from qnnbuild.work.run import WorkError


def read_license(path: Path, shown: str, *, place: str) -> str:
    """The text in one form: no BOM, `\\n` at the end of each line, nothing else changed."""
    data = path.read_bytes()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # never fails; old licence files are in it
    if "\0" in text or not text.strip():
        raise WorkError(f"the licence '{shown}' is not a text", place=place, exit_code=2)
    return text.replace("\r\n", "\n").replace("\r", "\n").rstrip() + "\n"
