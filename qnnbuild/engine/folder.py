"""The build folder: what users take. Copies of artifacts, mended when somebody changed them."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

from qnnbuild.actions.record import Tree
from qnnbuild.digest import Digest, Json, canonical, digest_bytes
from qnnbuild.engine.inputs import is_inside
from qnnbuild.engine.small_file import NotSmall, read_json, read_small
from qnnbuild.engine.store import Gone, Store, place
from qnnbuild.engine.whole_folders import WholeFolders
from qnnbuild.report.index import INDEX_VERSION, index, with_kept
from qnnbuild.work.bundle_files import MANIFEST, STATEMENT, signatures_of

UNFINISHED = ".unfinished.json"
"""Lists all that may be there while files are exchanged, so that a kill leaves nothing unknown."""

INDEX = "index.json"
REPORT = "report.html"
ENDS = (INDEX, REPORT)
"""What the end of a build writes over all bundles."""

UNFINISHED_ENDS = re.compile(rf"\.(?:{'|'.join(map(re.escape, ENDS))})\.[0-9a-f]{{32}}\.new")

KnownFailures = Sequence[Mapping[str, Any]]

BESIDE = re.compile(r"\..+\.[0-9a-f]{32}\.new")
"""What a file is called until it is whole."""


class BuildFolder:
    def __init__(self, root: Path, store: Store) -> None:
        self.root = root
        self.store = store
        self.whole = WholeFolders(store)

    def missing(self, lands: str, tree: Tree) -> tuple[str, ...]:
        """What of `tree` is not in the folder as it should be, in words."""
        where = f"{self.root.name}/{lands}"
        wrong = []
        for path, (digest, _) in tree.files.items():
            found = self.store.stats.digest(self.root / lands / path)
            if found != digest:
                what = "is missing" if found is None else "was changed"
                wrong.append(f"{where}/{path} {what}")
        if (self.root / lands / UNFINISHED).exists():
            wrong.append(f"{where} was left half done")
        return tuple(wrong)

    def lacks(self, lands: str, tree: Tree) -> list[tuple[Digest, int]]:
        """The artifacts that `put` would take out of the store."""
        return [
            (digest, size)
            for path, (digest, size) in tree.files.items()
            if self.store.stats.digest(self.root / lands / path) != digest
        ]

    def put(self, lands: str, tree: Tree) -> bool:
        """Make the folder hold `tree`; say whether anything had to be written.

        Raises Gone for what the store has not; what stood there stands then, too.
        """
        folder = self.root / lands
        if self._put_new(folder, tree):
            return True
        if not self.missing(lands, tree):
            return False
        # two builds at once would mix two bundles under one manifest
        with self.store.locked(digest_bytes(os.fsencode(os.path.abspath(folder)))):
            if not self._put_new(folder, tree):
                self._have_all(lands, tree)
                self._exchange(folder, tree)
        return True

    def _have_all(self, lands: str, tree: Tree) -> None:
        """Raises Gone before anything of the old bundle is touched."""
        for digest, _ in self.lacks(lands, tree):
            if not os.path.lexists(self.store.path(digest)):
                raise Gone(f"{self.store.path(digest)} is gone")

    def _put_new(self, folder: Path, tree: Tree) -> bool:
        """Where there is no folder yet, all of it comes at once: one rename for all files.

        False when there is one, or the store is not on its disk. Of two at once one is first.
        """
        if os.path.lexists(folder) or not self.whole.reaches(folder.parent):
            return False
        if not self.whole.move(self.whole.fill(tree), folder):
            return False
        for name, (digest, _) in tree.files.items():
            self.store.stats.know(folder / name, digest)
        return True

    def close(self) -> None:
        """Give back what `put` holds in the store; a later one takes it again."""
        self.whole.close()

    def _exchange(self, folder: Path, tree: Tree) -> None:
        old = _files_of(folder) - tree.files.keys()
        listed: Json = {"files": sorted([*old, *tree.files])}
        place(folder / UNFINISHED, canonical(listed))
        (folder / MANIFEST).unlink(missing_ok=True)
        for name in old:
            _take_away(folder, name)
        for path in folder.rglob(".*.new"):  # of a build that was killed
            if BESIDE.fullmatch(path.name):
                path.unlink()
        for name in sorted(tree.files, key=lambda name: (name == MANIFEST, name)):
            self._put_file(folder / name, tree.files[name][0])
        (folder / UNFINISHED).unlink()

    def _put_file(self, path: Path, digest: Digest) -> None:
        if self.store.stats.digest(path) == digest:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_name(f".{path.name}.{uuid4().hex}.new")
        try:
            self.store.copy(digest, new)
            os.replace(new, path)
        finally:
            new.unlink(missing_ok=True)
        self.store.stats.know(path, digest)

    def clean(self, lands: str, *, dry_run: bool = False) -> list[str]:
        """Remove a bundle's files and the folders that are empty then; return what that is."""
        folder = self.root / lands
        there = sorted(p for p in {*_files_of(folder), UNFINISHED} if _is_file(folder / p))
        if not dry_run:
            for path in there:
                _take_away(folder, path)
            _remove_empty(folder, up_to=self.root.parent)
        return [f"{self.root.name}/{lands}/{path}" for path in there]

    def reindex(self, failures: KnownFailures = ()) -> bool:
        """Write index.json over what the folder has, as after `clean`; without a bundle, none.

        Whether there is one.
        """
        manifests = self._manifests()
        if manifests:
            self._write_index(index(manifests, failures))
            return True
        for name in ENDS:
            (self.root / name).unlink(missing_ok=True)
        _remove_empty(self.root, up_to=self.root.parent)
        return False

    def finish(
        self,
        bundles: Mapping[str, Tree],
        *,
        failures: KnownFailures = (),
        keep: frozenset[str] = frozenset(),
    ) -> None:
        """Write index.json over the bundles that are there, when it changed.

        `failures` are those that recipes know of. `keep` names models that this build did not
        look at; they stay as the index has them.
        """
        manifests = {
            lands: self._manifest(lands, tree)
            for lands, tree in bundles.items()
            if MANIFEST in tree.files
        }
        before = self._index() if keep else None
        told = index(manifests, failures)
        self._sweep()
        if keep:
            told = with_kept(told, before or index(self._manifests()), keep)
        if told != before and (manifests or self.root.exists()):
            self._write_index(told)

    def _index(self) -> dict[str, Any] | None:
        """index.json as it is, when it is one of ours."""
        found = _read(self.root / INDEX)
        return found if found and found.get("index_version") == INDEX_VERSION else None

    def _write_index(self, told: Mapping[str, Any]) -> None:
        text = json.dumps(told, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
        path = self.root / INDEX
        try:
            before = read_small(path)
        except (FileNotFoundError, NotSmall):
            before = None
        if before != text.encode():
            self.place_end(INDEX, text.encode())

    def place_end(self, name: str, contents: bytes) -> None:
        """Write one of ENDS. All builds of this folder do it one after the other."""
        with self._alone():
            place(self.root / name, contents)

    def _sweep(self) -> None:
        """Remove what a build that was killed over one of ENDS left beside it."""
        if self._unfinished():
            with self._alone():  # nobody writes one now
                for path in self._unfinished():
                    path.unlink()

    def _unfinished(self) -> list[Path]:
        return [p for p in self.root.glob(".*.new") if UNFINISHED_ENDS.fullmatch(p.name)]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self.store.exists:  # nothing was built yet, and to look makes no store
            yield
            return
        with self.store.locked(digest_bytes(os.fsencode(os.path.abspath(self.root)))):
            yield

    def _manifests(self) -> dict[str, dict[str, Any]]:
        """The manifests that are in the folder, which takes long when there are many."""
        found = {path: _read(self.root / path / MANIFEST) or {} for path in self._known()}
        return {path: manifest for path, manifest in found.items() if "chips" in manifest}

    def _known(self) -> list[str]:
        return [p.parent.relative_to(self.root).as_posix() for p in self.root.rglob(MANIFEST)]

    def _manifest(self, lands: str, tree: Tree) -> dict[str, Any]:
        stored = self.store.path(tree.files[MANIFEST][0])  # it may be in a remote cache only
        return _read(stored) or _read(self.root / lands / MANIFEST) or {}


def _read(path: Path) -> dict[str, Any] | None:
    try:
        found = read_json(path)
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _files_of(folder: Path) -> set[str]:
    """The files that are ours in a folder: what its manifest lists, or a put that was killed.

    The manifest, which is written last and removed first, so that a folder that has one is whole,
    cannot list itself and the statement, which has its digest. Signatures of what was go with it.
    """
    ours = {MANIFEST, STATEMENT}
    for name in (MANIFEST, UNFINISHED):
        listed = (_read(folder / name) or {}).get("files")
        if isinstance(listed, dict | list):
            ours.update(p for p in listed if isinstance(p, str) and is_inside(p))
    return ours.union(*map(signatures_of, ours))


def _take_away(folder: Path, name: str) -> None:
    """Remove a file of ours and the folders that it leaves empty; a folder in its place stays."""
    path = folder / name
    if _is_file(path):
        path.unlink()
    _remove_empty(path.parent, up_to=folder)


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def _remove_empty(folder: Path, *, up_to: Path) -> None:
    while folder != up_to:
        try:
            folder.rmdir()
        except FileNotFoundError:
            pass
        except OSError:  # somebody else's files are in it
            return
        folder = folder.parent
