"""The build folder: what users take. Copies of artifacts, mended when somebody changed them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

from qnnbuild.actions.record import Tree
from qnnbuild.engine.store import Store, copy_file, place
from qnnbuild.report.index import index

MANIFEST = "manifest.json"
"""Written last and removed first: a folder that has one is whole."""


class BuildFolder:
    def __init__(self, root: Path, store: Store) -> None:
        self.root = root
        self.store = store

    def missing(self, lands: str, tree: Tree) -> tuple[str, ...]:
        """What of `tree` is not in the folder as it should be, in words."""
        wrong = []
        for path, (digest, _) in tree.files.items():
            found = self.store.stats.digest(self.root / lands / path)
            if found != digest:
                what = "is missing" if found is None else "was changed"
                wrong.append(f"{self.root.name}/{lands}/{path} {what}")
        return tuple(wrong)

    def put(self, lands: str, tree: Tree) -> bool:
        """Make the folder hold `tree`; say whether anything had to be written."""
        if not self.missing(lands, tree):
            return False
        folder = self.root / lands
        old = _files_of(folder / MANIFEST)
        (folder / MANIFEST).unlink(missing_ok=True)
        for path in old - tree.files.keys():
            (folder / path).unlink(missing_ok=True)
        for path in sorted(tree.files, key=lambda path: (path == MANIFEST, path)):
            self._put_file(folder / path, tree.files[path][0])
        return True

    def _put_file(self, path: Path, digest: str) -> None:
        if self.store.stats.digest(path) == digest:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{uuid4().hex}.new")
        try:
            copy_file(self.store.path(digest), new)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)
        self.store.stats.know(path, digest)

    def clean(self, lands: str, *, dry_run: bool = False) -> list[str]:
        """Remove a bundle's files and the folders that are empty then; return what that is."""
        folder = self.root / lands
        there = [p for p in sorted(_files_of(folder / MANIFEST)) if (folder / p).exists()]
        removed = [f"{self.root.name}/{lands}/{path}" for path in there]
        if dry_run:
            return removed
        for path in there:
            (folder / path).unlink()
        for parent in (folder, *folder.relative_to(self.root).parents):
            try:
                (self.root / parent).rmdir()
            except OSError:  # somebody else's files are in it, or it is gone
                break
        return removed

    def finish(self, bundles: Mapping[str, Tree], *, keep: frozenset[str] = frozenset()) -> None:
        """Write index.json over the bundles that are there, when it changed.

        `keep` names models that this build did not look at; they stay as the index has them.
        """
        manifests = {
            lands: self._manifest(tree) for lands, tree in bundles.items() if MANIFEST in tree.files
        }
        for path in self._known() if keep else ():
            manifest = _read(self.root / path / MANIFEST)
            if path not in manifests and manifest and manifest.get("model") in keep:
                manifests[path] = manifest
        if not manifests and not self.root.exists():
            return
        text = json.dumps(index(manifests), indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        path = self.root / "index.json"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            place(path, text.encode())

    def _known(self) -> list[str]:
        return [p.parent.relative_to(self.root).as_posix() for p in self.root.rglob(MANIFEST)]

    def _manifest(self, tree: Tree) -> dict[str, Any]:
        return _read(self.store.path(tree.files[MANIFEST][0])) or {}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return None
    return found if isinstance(found, dict) else None


def _files_of(manifest: Path) -> set[str]:
    """The files that a bundle's manifest lists, which are all that is ours in its folder."""
    files = (_read(manifest) or {}).get("files", {})
    return {path for path in files if not path.startswith(("/", ".."))} | {MANIFEST}
