"""Where Qualcomm's SDKs are on this machine, and what they are: their identity in keys.

A repo says in qnnbuild.yaml where each is. Planning needs none of it: it is looked up when an
action is about to need it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from qnnbuild.digest import Json, digest_json
from qnnbuild.engine.python_packages import packages, watched
from qnnbuild.engine.sdk_parts import PARTS, Part
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.errors import ToolError
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version, sdk_version
from qnnbuild.model.sdk_runtime import PHONE, TEXTS, phone_files, runtime_files
from qnnbuild.model.sdk_runtime import PREFIX as RUNTIME
from qnnbuild.model.sdk_systems import SYSTEMS, declared_as
from qnnbuild.model.sdks import VARIABLE, Sdk
from qnnbuild.work.qairt_sdk import search_path

SDK_YAML = "sdk.yaml"
NDK_FACTS = "source.properties"
HEXAGON_COMPILERS = "tools/HEXAGON_Tools/*/Tools/bin/hexagon-clang++"
NDK_BUILD = "ndk-build"

LEFT_OUT = ("*/__pycache__/*", "*.pyc")


def _part(name: str) -> Part:
    if name.startswith(RUNTIME):
        return Part(needed=runtime_files(name), files=TEXTS)
    if name.startswith(PHONE):
        return Part(needed=phone_files(name))
    return PARTS[name]


@dataclass(frozen=True, kw_only=True)
class Located:
    sdk: Sdk
    root: Path
    python: Path
    ndk: Path | None
    hexagon: Path | None
    cross: Mapping[str, Mapping[str, Path]] = field(default_factory=dict)

    @property
    def search_path(self) -> str:
        return search_path(self.root, self.python, self.ndk)


class Sdks:
    """The declared SDKs of the repo at `top`."""

    def __init__(
        self,
        declared: Mapping[str, Sdk],
        top: Path,
        stats: Stats,
        environ: Mapping[str, str] = os.environ,
        trust: Trust = TRUSTED,
    ) -> None:
        self.declared = declared
        self.top = top
        self.stats = stats
        self.environ = environ
        self.trust = trust

    def variables(self) -> dict[str, str]:
        """For actions, where each SDK is. One that is not there fails where it is measured."""
        told = {}
        for name, sdk in self.declared.items():
            try:
                located = self.locate(name)
            except ToolError:
                continue
            told[sdk.variable] = json.dumps(
                {
                    "root": str(located.root),
                    "python": str(located.python),
                    "ndk": str(located.ndk) if located.ndk else None,
                    "hexagon": str(located.hexagon) if located.hexagon else None,
                    **({"cross": _as_text(located.cross)} if located.cross else {}),
                }
            )
        return told

    def measure(self, rest: str) -> str:
        """ "qairt-2.40/converter" → its version and a digest of all that counts."""
        name, _, part_name = rest.partition("/")
        located, part = self.locate(name), _part(part_name)
        text = self._needed(located, SDK_YAML).read_text(encoding="utf-8", errors="replace")
        try:
            version = sdk_version(text)
        except FormatError as error:
            raise self._error(located.sdk, f"{SDK_YAML} says no version: {error}") from None
        if not same_version(located.sdk.version, version):
            raise self._error(
                located.sdk, f"the SDK is {version}", hint="another folder, or another name for it"
            )
        contents = dict(self._contents(located, part))
        return f"{version} sha256:{digest_json(contents)}"

    def files(self, rest: str) -> Iterator[Path]:
        """What changes when `measure` says something else; none of an SDK that is not there.

        A folder changes with what comes into it and goes out of it.
        """
        name, _, part_name = rest.partition("/")
        try:
            located = self.locate(name)
        except ToolError:
            return
        part = _part(part_name)
        yield located.root / SDK_YAML
        yield from (path for _, path in self._of_sdk(located.root, part))
        yield from self._folders(located.root, part)
        if part.python:
            yield from watched(located.python)
        if part.hexagon and located.hexagon is not None:
            yield from located.hexagon.glob(HEXAGON_COMPILERS)
        yield from (
            Path(found)
            for program in part.programs
            if (found := find_program(program, located.search_path))
        )
        if part.ndk and located.ndk:
            yield located.ndk / NDK_FACTS
        if part.cross:
            with suppress(ToolError):  # told where it is measured
                yield from (path.resolve() for path in self.compilers(name, part.cross))

    def locate(self, name: str) -> Located:
        """Raises ToolError that says what is missing, and where it was declared."""
        root, sdk = self.root(name), self.declared[name]
        ndk, hexagon = (
            None if written is None else self._path(sdk, written)
            for written in (sdk.ndk, sdk.hexagon)
        )
        cross = {}
        for system in sdk.cross:
            with suppress(ToolError):  # told by what asks for that system
                cross[system] = self.cross(name, system)
        return Located(
            sdk=sdk,
            root=root,
            python=self.python(name),
            ndk=ndk,
            hexagon=hexagon,
            cross=cross,
        )

    def root(self, name: str) -> Path:
        sdk = self.declared.get(name)
        if sdk is None:
            raise ToolError(f"no SDK is declared as '{name}'")
        root = self._path(sdk, sdk.root)
        if not root.is_dir():
            raise self._error(
                sdk,
                "there is no such folder",
                (("root", sdk.root),),
                "root: the folder that has sdk.yaml, bin and lib in it",
            )
        return root

    def cross(self, name: str, system: str) -> dict[str, Path]:
        """The folders of a compiler for the system, by the variables that the SDK knows."""
        sdk = self.declared[name]
        declared = sdk.cross.get(system, {})
        folders = {variable: self._path(sdk, path) for variable, path in declared.items()}
        missing = [declared[name] for name, folder in folders.items() if not folder.is_dir()]
        if missing or not folders:
            raise self._error(
                sdk,
                "there is no such folder" if missing else f"no compiler for {system} is declared",
                ((f"cross: {system}", missing[0] if missing else "not declared"),),
                f"cross: {{{declared_as(SYSTEMS[system])}}}",
            )
        return folders

    def compilers(self, name: str, system: str) -> list[Path]:
        """What compiles for the system; ToolError when its folders have nothing of the kind."""
        folders, known = self.cross(name, system), SYSTEMS[system]
        found = {
            path
            for folder in folders.values()
            for pattern in known.compilers
            for path in folder.glob(pattern)
            if path.is_file()
        }
        if not found:
            looked_in = ", ".join(str(folder) for folder in folders.values())
            raise self._error(
                self.declared[name],
                f"there is no compiler for {system} in {looked_in}",
                (("looked for", ", ".join(known.compilers)),),
                f"apt-get install {known.package}, and cross: {{{system}: /}}"
                if known.package
                else f"cross: {{{declared_as(known)}}}",
            )
        return sorted(found)

    def ndk(self, name: str) -> Path:
        sdk = self.declared[name]
        ndk = self._path(sdk, sdk.ndk or "")
        if sdk.ndk is None or not ndk.is_dir():
            raise self._error(
                sdk,
                "there is no such folder",
                (("ndk", sdk.ndk or "not declared"),),
                "ndk: the folder that has source.properties and ndk-build in it",
            )
        return ndk

    def hexagon(self, name: str) -> Path:
        """The folder of the Hexagon SDK, which has a compiler in it."""
        sdk = self.declared[name]
        root = self._path(sdk, sdk.hexagon or "")
        if sdk.hexagon is None or not any(root.glob(HEXAGON_COMPILERS)):
            raise self._error(
                sdk,
                "there is no Hexagon SDK for it",
                (("hexagon", sdk.hexagon or "not declared"),),
                "hexagon: the folder that has tools/HEXAGON_Tools in it",
            )
        return root

    def _contents(self, located: Located, part: Part) -> Iterator[tuple[str, Json]]:
        for needed in part.needed:
            self._needed(located, needed)
        for key, path in self._of_sdk(located.root, part):
            yield key, self.stats.digest(path) or "missing"
        if part.python:
            yield "python", self.stats.digest(located.python.resolve()) or "missing"
            yield "packages", " ".join(packages(located.python))
        for program in part.programs:
            found = find_program(program, located.search_path)
            if found is None:
                raise self._error(
                    located.sdk,
                    f"{program} is not on this machine",
                    (("looked in", located.search_path.replace(":", ", ")),),
                    "apt-get install clang make binutils libc++-dev",
                )
            yield program, self.stats.digest(Path(found).resolve()) or "missing"
        if part.ndk:
            yield "ndk", self._ndk(located)
        if part.cross:
            yield "cross", dict(self._cross_compilers(located.sdk.name, part.cross))
        if part.hexagon:
            yield "hexagon", self._hexagon_compilers(self.hexagon(located.sdk.name))

    def _ndk(self, located: Located) -> str:
        facts = located.ndk / NDK_FACTS if located.ndk else None
        if facts is None or not facts.is_file():
            raise self._error(
                located.sdk,
                "there is no Android NDK for it",
                (("ndk", str(located.ndk) if located.ndk else "not declared"),),
                "ndk: the folder that has source.properties and ndk-build in it",
            )
        if not facts.with_name(NDK_BUILD).is_file():
            raise self._error(
                located.sdk,
                f"the Android NDK has no {NDK_BUILD} in it",
                (("ndk", str(located.ndk)),),
                "unpack it again: all of it is needed",
            )
        return self.stats.digest(facts) or "missing"

    def _cross_compilers(self, name: str, system: str) -> Iterator[tuple[str, str]]:
        """By the variable that names their folder, and their place in it: names may be alike."""
        compilers = self.compilers(name, system)
        for variable, folder in self.cross(name, system).items():
            for path in compilers:
                if path.is_relative_to(folder):
                    place = f"{variable}/{path.relative_to(folder).as_posix()}"
                    yield place, self.stats.digest(path.resolve()) or "missing"

    def _hexagon_compilers(self, root: Path) -> str:
        """Version folder and digest of each."""
        found = sorted(root.glob(HEXAGON_COMPILERS))
        digests = {str(p.relative_to(root)): self.stats.digest(p) or "missing" for p in found}
        return digest_json(digests)

    def _of_sdk(self, root: Path, part: Part) -> Iterator[tuple[str, Path]]:
        found = [root / name for name in part.needed]
        found += [path for pattern in part.files for path in root.glob(pattern)]
        for path in sorted(set(found)):
            inside = path.relative_to(root).as_posix()
            if path.is_file() and not any(fnmatchcase(inside, out) for out in LEFT_OUT):
                yield inside, path

    def _folders(self, root: Path, part: Part) -> Iterator[Path]:
        """Those in which a new file would count."""
        for pattern in part.files:
            top, everywhere, _ = pattern.partition("/**/")
            if everywhere:
                below = (path for path in (root / top).glob("**/") if path.is_dir())
                yield from (path for path in below if path.name != "__pycache__")

    def _needed(self, located: Located, name: str) -> Path:
        path = located.root / name
        if not path.is_file():
            raise self._error(
                located.sdk,
                f"{name} is not in it",
                (("root", str(located.root)),),
                "root: the folder that has sdk.yaml, bin and lib in it",
            )
        return path

    def python(self, name: str) -> Path:
        sdk = self.declared[name]
        written = self._filled(sdk, sdk.python)
        if "/" not in written:
            found = shutil.which(written, path=self.environ.get("PATH"))
            path = Path(found) if found else None
        else:
            path = self._path(sdk, sdk.python)
        if path is None or not path.is_file():
            raise self._error(
                sdk,
                f"its Python '{sdk.python}' is not on this machine",
                hint="python: a Python 3.10 with the packages that the SDK's "
                "check-python-dependency lists",
            )
        return path

    def _path(self, sdk: Sdk, written: str) -> Path:
        path = self.top / Path(self._filled(sdk, written)).expanduser()
        if not self.trust.given and path.resolve().is_relative_to(self.top.resolve()):
            raise self.trust.refused(
                f"the toolchain {sdk.name} would run programs of this repo, which is not trusted",
                sdk.span,
                written=written,
            )
        return path

    def _filled(self, sdk: Sdk, written: str) -> str:
        """Errors tell what was written: a variable may hold what no log is to show."""
        for name in VARIABLE.findall(written):
            if not self.environ.get(name):
                raise self._error(
                    sdk,
                    f"the environment variable {name} is not set",
                    (("written", written),),
                    f"export {name}=…, or write the path",
                )
        return VARIABLE.sub(lambda found: self.environ[found[1]], written)

    def _error(
        self,
        sdk: Sdk,
        message: str,
        facts: tuple[tuple[str, str], ...] = (),
        hint: str | None = None,
    ) -> ToolError:
        return ToolError(
            f"the toolchain {sdk.name} is not here: {message}", at=sdk.span, facts=facts, hint=hint
        )


def _as_text(cross: Mapping[str, Mapping[str, Path]]) -> dict[str, dict[str, str]]:
    return {
        system: {variable: str(folder) for variable, folder in folders.items()}
        for system, folders in cross.items()
    }


def find_program(name: str, path: str) -> str | None:
    return shutil.which(name, path=path)
