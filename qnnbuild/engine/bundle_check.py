"""A bundle held against all that it says of itself: each file, the statement, chip and SDK.

What a bundle tells is data of a stranger: whatever is not of the expected form is told as such.
Nothing of a build is needed, and nothing of it is run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.engine.inputs import is_inside
from qnnbuild.engine.small_file import NotSmall, read_json, read_small
from qnnbuild.errors import NotGood, Problem
from qnnbuild.work.bundle_files import BOM, MANIFEST, STATEMENT, files_below, signatures_of

Said = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A bundle as it lies in a folder, and what it says."""

    folder: Path
    files: Mapping[str, str]  # as they are: name → sha256
    manifest: Said
    statement: Said | None
    bom: Said | None
    problems: list[Problem] = field(default_factory=list)


def read_bundle(folder: Path) -> Bundle:
    """Raises NotGood when there is no manifest that could be held against anything."""
    problems: list[Problem] = []
    signatures = signatures_of(STATEMENT)
    links = [path for path in folder.rglob("*") if path.is_symlink()]
    problems += [_bad(f"{path.relative_to(folder)} is a link, no file") for path in links]
    names = [n for n in files_below(folder) if n not in signatures and folder / n not in links]
    manifest = _read(folder, MANIFEST)
    if not isinstance(manifest, Mapping) or not _listed(manifest):
        raise NotGood(f"{MANIFEST} lists no files: it is of no bundle")
    papers = {}
    for name in (STATEMENT, BOM):
        try:
            papers[name] = _read(folder, name)
        except NotGood as error:
            problems += error.problems
    return Bundle(
        folder=folder,
        files={name: digest_file(folder / name) for name in names},
        manifest=manifest,
        statement=papers.get(STATEMENT),
        bom=papers.get(BOM),
        problems=problems,
    )


def _read(folder: Path, name: str) -> Any:
    path = folder / name
    if path.is_symlink() or not path.is_file():
        hint = "what has none was built before there were any: build it again"
        if name == MANIFEST:
            hint = "give a bundle's folder, or its archive"
        raise NotGood(f"there is no {name}", hint=hint)
    try:
        found = read_json(path)
    except NotSmall:
        raise NotGood(f"{name} is larger than any: {path.stat().st_size:,} bytes") from None
    except (ValueError, RecursionError):
        raise NotGood(f"{name} is no JSON any more: it was changed") from None
    if not isinstance(found, dict):
        raise NotGood(f"{name} is no object: it was changed")
    return found


def files_wrong(bundle: Bundle) -> Iterator[Problem]:
    """Each file that is altered, missing or not listed, once, with who says so."""
    told = {MANIFEST: _listed(bundle.manifest)}
    if bundle.statement is not None:
        told[STATEMENT] = _subjects(bundle.statement)
    if bundle.bom is not None:
        told[BOM] = _components(bundle.bom)
    every = {MANIFEST: {STATEMENT, MANIFEST}, STATEMENT: {STATEMENT}}
    every[BOM] = {BOM, MANIFEST, STATEMENT}
    names = sorted({*bundle.files, *(name for one in told.values() for name in one)})
    for name in names:
        found = bundle.files.get(name)
        says = {
            who: listed.get(name, "nothing")
            for who, listed in told.items()
            if name not in every[who]
        }
        wrong = {who: digest for who, digest in says.items() if digest != found}
        if not wrong:
            continue
        facts = [(who, _short(digest)) for who, digest in wrong.items()]
        if found is None:
            yield _bad(f"{name} is missing", facts)
        elif all(digest == "nothing" for digest in wrong.values()):
            yield _bad(f"{name} is not listed in {' and '.join(wrong)}")
        else:
            yield _bad(f"{name} was changed", [*facts, ("the file", _short(found))])


def statement_wrong(bundle: Bundle) -> Iterator[Problem]:
    """The statement is what the manifest and the files make it, byte by byte."""
    from qnnbuild.work.statement import BUILD_TYPE, statement

    if bundle.statement is None:
        return
    kind = _at(bundle.statement, "predicate", "buildDefinition", "buildType")
    if kind != BUILD_TYPE:
        yield _bad(
            f"{STATEMENT} is of a kind that is not known here",
            [("kind", str(kind)), ("known", BUILD_TYPE)],
            "a newer qnnbuild may know it",
        )
        return
    subjects = {name: bundle.files.get(name, "") for name in _subjects(bundle.statement)}
    if any(subjects[name] != digest for name, digest in _subjects(bundle.statement).items()):
        return  # told of the files already
    try:
        wanted = statement(bundle.manifest, subjects)
    except (LookupError, TypeError, ValueError, AttributeError, RecursionError) as error:
        yield _bad(f"{MANIFEST} lacks what a statement is made of", [("at", repr(error))])
        return
    if read_small(bundle.folder / STATEMENT) != wanted.encode():
        said = _first_difference(bundle.statement, json.loads(wanted))
        facts = [("at", said)] if said else []
        yield _bad(f"{STATEMENT} is not what {MANIFEST} and the files make it", facts)


def _first_difference(found: Any, wanted: Any, at: str = "") -> str:
    """The path of the first value that differs; empty: nothing but the spelling does."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        for name in sorted({*found, *wanted}):
            if found.get(name) != wanted.get(name):
                return _first_difference(found.get(name), wanted.get(name), f"{at}/{name}")
    if isinstance(found, list) and isinstance(wanted, list):
        for number, (one, other) in enumerate(zip(found, wanted, strict=False)):
            if one != other:
                return _first_difference(one, other, f"{at}/{number}")
    return at


def _listed(manifest: Said) -> dict[str, str]:
    files = manifest.get("files")
    if not isinstance(files, Mapping):
        return {}
    return {
        name: str(one.get("sha256")) if isinstance(one, Mapping) else "nothing"
        for name, one in files.items()
        if is_inside(name)
    }


def _subjects(statement: Said) -> dict[str, str]:
    found = statement.get("subject")
    rows = found if isinstance(found, list) else []
    return {
        str(one.get("name")): str(_at(one, "digest", "sha256"))
        for one in rows
        if isinstance(one, Mapping)
    }


def _components(bom: Said) -> dict[str, str]:
    found = bom.get("components")
    rows = found if isinstance(found, list) else []
    return {str(one.get("name")): _content(one) for one in rows if isinstance(one, Mapping)}


def _content(component: Said) -> str:
    found = component.get("hashes")
    first = found[0] if isinstance(found, list) and found else None
    return str(_at(first, "content"))


def _at(value: Any, *names: str) -> Any:
    for name in names:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _short(digest: str) -> str:
    return f"sha256 {digest[:16]}…" if len(digest) > 16 else digest


def _bad(
    message: str, facts: list[tuple[str, str]] | None = None, hint: str | None = None
) -> Problem:
    return Problem(message=message, facts=tuple(facts or ()), hint=hint)
