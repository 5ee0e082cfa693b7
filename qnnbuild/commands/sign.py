"""qnnbuild sign [BUNDLE…]: signatures beside what was built, by a key of the environment."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path

from qnnbuild.actions.record import Tree
from qnnbuild.engine.places import BUILD
from qnnbuild.engine.signatures import sign
from qnnbuild.engine.signing_keys import KEY, PASSWORD
from qnnbuild.errors import NotGood, NothingMatches
from qnnbuild.repo import find_root
from qnnbuild.session import open_builder, open_session
from qnnbuild.work.bundle_files import MANIFEST, STATEMENT


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "bundle", nargs="*", type=Path, metavar="BUNDLE",
        help="a folder of build/, or one with bundles below it; usually all of build/",
    )  # fmt: skip
    parser.epilog = f"The key is {KEY}, itself or the path of its file; {PASSWORD} opens it."


def run(args: Namespace) -> int:
    folders = [folder for top in args.bundle or [find_root() / BUILD] for folder in _bundles(top)]
    recorded = _recorded()
    signed = sign({folder: _record_of(folder, recorded) for folder in folders}, os.environ)
    for one in signed:
        if one.new:
            print(one.signature)
    new = sum(one.new for one in signed)
    print(f"{new} signed, {len(signed) - new} had a good signature", file=sys.stderr)
    return 0


def _recorded() -> dict[Path, Tree]:
    """Folder of build/ → what the store has a record of, for all bundles of the recipes."""
    with open_builder(open_session(bad_left_out=True), only_look=True) as builder:
        root = builder.folder.root
        return {(root / lands).resolve(): tree for lands, tree in builder.bundles().items()}


def _record_of(folder: Path, recorded: Mapping[Path, Tree]) -> Tree:
    found = recorded.get(folder.resolve())
    if found is None:
        raise NotGood(
            f"{folder} is not signed: the store has no record of it as the recipes are now",
            hint="doit builds it; then sign",
        )
    return found


def _bundles(top: Path) -> Iterator[Path]:
    """Folders with a statement, at or below `top`."""
    found = sorted(
        path.parent for path in top.rglob(STATEMENT) if (path.parent / MANIFEST).exists()
    )
    if not found:
        raise NothingMatches(f"there is no bundle in {top}", hint="doit builds them")
    yield from found
