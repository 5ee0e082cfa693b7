"""qnnbuild diff A B: what changed between two builds, and whether it got worse."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from qnnbuild.commands.columns import print_json, print_rows
from qnnbuild.errors import NotGood, NothingMatches, RecipeError
from qnnbuild.report.diff import Change, Limits, Manifest, diff, name_of

MANIFEST = "manifest.json"
HEAD = ("bundle", "graph", "what", "before", "after", "")
MOST_LISTED = 3
DIGITS = 6


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("before", help="a build folder, its index.json, or one manifest.json")
    parser.add_argument("after", help="the same of the build that is judged")
    parser.add_argument(
        "--fail-on",
        default="cpu",
        metavar="WHAT",
        help="what makes it exit with 5: cpu (more work on the CPU), sqnr=DB (a fall of more), "
        "both as cpu,sqnr=1, or nothing; cpu when left out",
    )
    parser.add_argument("--json", action="store_true", help="the changes as data")


def run(args: Namespace) -> int:
    limits = limits_of(args.fail_on)
    changes = diff(manifests(Path(args.before)), manifests(Path(args.after)), limits)
    worse = [change for change in changes if change.worse]
    if args.json:
        print_json({"changes": [change.as_json() for change in changes], "worse": len(worse)})
        return NotGood.exit_code if worse else 0
    if not changes:
        print("no change")
        return 0
    print_rows(map(_row, changes), HEAD)
    if worse:
        first = worse[0]
        place = f"{first.bundle} {first.graph}".strip()
        raise NotGood(
            f"{len(worse)} of {len(changes)} changes are for the worse: {place}: {first.what}",
            facts=[("before", _shown(first.before)), ("after", _shown(first.after))],
            hint="--fail-on says what counts as worse",
        )
    return 0


def limits_of(text: str) -> Limits:
    """`cpu`, `sqnr=DB`, both with a comma between, or `nothing`."""
    cpu, sqnr_db = False, None
    for word in text.split(",") if text != "nothing" else ():
        name, equals, number = word.strip().partition("=")
        if name == "cpu" and not equals:
            cpu = True
        elif name == "sqnr" and _is_number(number):
            sqnr_db = float(number)
        else:
            raise RecipeError(
                f"--fail-on: '{word}' means nothing here", hint="--fail-on cpu,sqnr=1"
            )
    return Limits(cpu=cpu, sqnr_db=sqnr_db)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()


def manifests(path: Path) -> dict[str, Manifest]:
    """By bundle; of a folder all that are below it, of an index those that it lists."""
    if path.is_dir():
        files = [file for file in sorted(path.rglob(MANIFEST)) if not _is_packed(file)]
    elif path.is_file():
        content = _read(path)
        files = list(_listed(path, content)) if "index_version" in content else [path]
    else:
        raise NothingMatches(f"no such file or folder: {path}")
    if not files:
        raise NothingMatches(f"{path} has no bundles", hint="a build folder, or its index.json")
    return {name_of(manifest): manifest for manifest in map(_manifest, files)}


def _listed(index: Path, content: Any) -> Iterator[Path]:
    for models in content["chips"].values():
        for variants in models.values():
            for bundle in variants.values():
                yield index.parent / bundle["path"] / MANIFEST
    for variants in content.get("libraries", {}).values():
        for bundles in variants.values():
            yield from (index.parent / one["path"] / MANIFEST for one in bundles)


def _is_packed(path: Path) -> bool:
    """Whether it is of an archive, whose bundle has one of its own."""
    return "archive" in _read(path) and "graphs" not in _read(path)


def _manifest(path: Path) -> Manifest:
    if not path.is_file():
        raise NothingMatches(f"no such file: {path}", hint="the index lists it: build it again")
    content: Manifest = _read(path)
    if "manifest_version" not in content:
        raise RecipeError(f"{path} is no bundle's manifest")
    return content


def _read(path: Path) -> Any:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:  # no JSON, or no text at all
        raise RecipeError(f"{path} is no JSON: {error}") from None
    if not isinstance(content, dict):
        raise RecipeError(f"{path} is no bundle's manifest and no index")
    return content


def _row(change: Change) -> tuple[str, ...]:
    worse = "WORSE" if change.worse else ""
    sides = (_shown(change.before), _shown(change.after))
    return (change.bundle, change.graph or "-", change.what, *sides, worse)


def _shown(value: Any) -> str:
    if value is None or value == []:
        return "none"
    if isinstance(value, bool):
        return "there" if value else "gone"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {count}" for name, count in value.items())
    if isinstance(value, list):
        return _some(value)
    return str(value)


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    return ", ".join(names[:MOST_LISTED]) + more
