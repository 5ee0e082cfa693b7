"""A bundle or its archive, looked at by whoever downloaded it: whole, signed, for this chip."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from qnnbuild.digest import digest_file
from qnnbuild.engine.bundle_check import Bundle, files_wrong, read_bundle, statement_wrong
from qnnbuild.engine.bundle_contexts import read_contexts
from qnnbuild.engine.inputs import is_inside
from qnnbuild.engine.signatures import check_file, opened
from qnnbuild.engine.signing_keys import PublicMinisign, PublicPem
from qnnbuild.engine.small_file import NotSmall, read_json, read_small
from qnnbuild.engine.unpacking import unpack
from qnnbuild.errors import NotGood, NothingMatches, Problem
from qnnbuild.formats.sdk_yaml import same_version
from qnnbuild.work.bundle_files import MANIFEST, STATEMENT, signatures_of

PublicKey = PublicPem | PublicMinisign


@dataclass(kw_only=True)
class Verified:
    """What was found. `problems` is empty for what is good."""

    path: str
    model: str = ""
    variants: list[str] = field(default_factory=list)
    chips: list[str] = field(default_factory=list)  # empty: any
    sdk_builds: list[str] = field(default_factory=list)
    files: int = 0
    signature: str = "none"
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)


def verify(path: Path, *, key: PublicKey | None = None, chip: str = "", sdk: str = "") -> Verified:
    """Look at all of it. `chip` and `sdk` are what it has to be for, and by, if given."""
    path = _archive_in(path)
    told = Verified(path=str(path))
    try:
        with _folder_of(path) as folder:
            bundle = read_bundle(folder)
            told.files = len(bundle.files)
            told.problems += bundle.problems
            told.problems += [*files_wrong(bundle), *statement_wrong(bundle)]
            _told_of(bundle, told)
            told.problems += [*_chip_wrong(bundle.manifest, chip), *_sdk_wrong(told, sdk)]
    except NotGood as error:
        told.problems += error.problems
    try:
        told.signature = _signature(path, key)
    except NotGood as error:
        told.signature = "not good"
        told.problems += error.problems
    return told


def _archive_in(path: Path) -> Path:
    """The archive in its folder of build/, or what was given."""
    about = path / MANIFEST
    if path.is_dir() and about.is_file():
        try:
            told = read_json(about)
            names = list(told["files"]) if "members" in told else []
        except (ValueError, TypeError, KeyError, RecursionError):
            return path  # which is told when all of it is looked at
        if len(names) == 1 and is_inside(names[0]):
            return path / str(names[0])
    return path


@contextmanager
def _folder_of(path: Path) -> Iterator[Path]:
    """The folder that holds the manifest; of an archive it is there until the block ends."""
    if path.is_dir():
        yield path
        return
    if not path.is_file():
        raise NothingMatches(f"{path}: no such file or folder")
    with TemporaryDirectory(prefix="qnnbuild-") as made:
        folder = Path(made)
        unpack(path, folder)
        inside = list(folder.iterdir())
        if len(inside) == 1 and inside[0].is_dir():
            folder = inside[0]
        yield folder


def _told_of(bundle: Bundle, told: Verified) -> None:
    manifest = bundle.manifest
    told.model = str(manifest.get("model", ""))
    told.variants = [name for name in _names(manifest, "variants") if name]
    told.chips = _names(manifest, "chips")
    contexts = read_contexts(bundle.folder, bundle.files, manifest)
    told.sdk_builds = sorted(contexts.builds or _library_builds(manifest))
    told.problems += contexts.problems
    told.notes += contexts.notes


def _names(manifest: Mapping[str, Any], what: str) -> list[str]:
    found = manifest.get(what)
    rows = found if isinstance(found, list) else []
    return [str(one.get("name", "")) for one in rows if isinstance(one, Mapping)]


def _library_builds(manifest: Mapping[str, Any]) -> set[str]:
    """Libraries do not say it in a form that can be read here."""
    found = [
        one.get("sdk_build")
        for graph in _values(manifest.get("graphs"))
        for one in _values(graph.get("libraries"))
    ]
    return {build for build in found if isinstance(build, str)}


def _values(value: Any) -> list[Mapping[str, Any]]:
    rows = value.values() if isinstance(value, Mapping) else ()
    return [one for one in rows if isinstance(one, Mapping)]


def _chip_wrong(manifest: Mapping[str, Any], chip: str) -> Iterator[Problem]:
    names = _names(manifest, "chips")
    if not chip or not names:
        return
    known = {name.casefold() for name in names}
    for one in manifest["chips"]:
        sold = one.get("marketing") if isinstance(one, Mapping) else None
        known |= {str(name).casefold() for name in (sold if isinstance(sold, list) else ())}
    if chip.casefold() not in known:
        message = f"it is not for {chip}, but for {', '.join(names)}"
        yield Problem(message=message, hint=f"what a chip is called: qnnbuild chips {chip}")


def _sdk_wrong(told: Verified, sdk: str) -> Iterator[Problem]:
    if sdk and not any(same_version(sdk, build) for build in told.sdk_builds):
        by = ", ".join(told.sdk_builds) or "nothing that says so"
        yield Problem(message=f"it is not by the SDK {sdk}, but by {by}")


def _signature(path: Path, key: PublicKey | None) -> str:
    """How it is signed, in words. Raises NotGood when `key` is given and did not sign it."""
    signed = path / STATEMENT if path.is_dir() else path
    envelope, minisig = (signed.with_name(name) for name in signatures_of(signed.name))
    if key is None:
        there = [one.name for one in (envelope, minisig) if one.is_file()]
        return f"not looked at: --key checks {' and '.join(there)}" if there else "none"
    wanted = envelope if isinstance(key, PublicPem) else minisig
    if not wanted.is_file():
        raise NotGood(
            f"it is not signed by a key of this kind: there is no {wanted.name}",
            hint=f"the signer has it; it belongs beside {signed.name}",
        )
    if isinstance(key, PublicMinisign):
        check_file(signed, wanted, key)
        return f"good: {minisig.name}"
    payload = opened(envelope, key)
    if path.is_dir() and payload != _statement(signed):
        raise NotGood(f"{envelope.name} signs another statement than {STATEMENT}")
    if not path.is_dir() and digest_file(path) not in _digests(payload, path.name):
        raise NotGood(f"{envelope.name} signs another file than {path.name}")
    return f"good: {envelope.name}"


def _statement(path: Path) -> bytes | None:
    try:
        return read_small(path)
    except NotSmall:  # told when it is looked at
        return None


def _digests(payload: bytes, name: str) -> list[str]:
    """What a signed statement says of a file; it is by whoever has the key."""
    try:
        told = json.loads(payload)["subject"]
        return [one["digest"]["sha256"] for one in told if one["name"] == name]
    except (ValueError, LookupError, TypeError):
        return []
