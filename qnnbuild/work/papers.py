"""The papers of a bundle, written when all else is there: each has digests of those before it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.work.bom import bom
from qnnbuild.work.bundle_files import BOM, CARD, MANIFEST, STATEMENT, files_below
from qnnbuild.work.card import card
from qnnbuild.work.manifest import manifest_text
from qnnbuild.work.statement import statement


def write_papers(manifest: dict[str, Any], out: Path) -> dict[str, Any]:
    """Card, bill of materials, manifest and statement beside the files that are in `out`.

    Returns the manifest with its files. The bill of materials has the digests of all files but the
    papers that follow it, the manifest those and that of the bill, the statement all of them.
    """
    _write(out / CARD, card(manifest))
    digests = {name: digest_file(out / name) for name in files_below(out)}
    _write(out / BOM, bom(manifest, digests))
    digests[BOM] = digest_file(out / BOM)
    files = {
        name: {"sha256": digest, "bytes": (out / name).stat().st_size}
        for name, digest in sorted(digests.items())
    }
    manifest = {**manifest, "files": files}
    _write(out / MANIFEST, manifest_text(manifest))
    digests[MANIFEST] = digest_file(out / MANIFEST)
    _write(out / STATEMENT, statement(manifest, digests))
    return manifest


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
