"""Packages of operators of the user's own: what their files are called, wherever they come from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol, runtime_checkable

from qnnbuild.digest import Json
from qnnbuild.errors import Problem, Span
from qnnbuild.model.recipe import Graph, MeasuredBy, OpPackage
from qnnbuild.toolchains.work import Work

TARGET_HERE = "CPU"
DEVICE_TARGETS = ("CPU", "HTP")
BUILT_INPUT = "built-"
DEVICE_FOLDER = "op_packages"
"""Below a bundle: both libraries of a package have one name, as the SDK makes them."""

HERE, ANDROID = "htp_x86", "htp_aarch64"
"""What make is asked for: what compiles on this host, and what registers a package on a device."""

MEASURES, CONVERTS = "all_x86", "converter"
"""What the SDK measures with, and what tells its converter shapes (make cpu, in its own folder)."""


@dataclass(frozen=True, kw_only=True)
class Built:
    """One package that an SDK builds; its operators may be several."""

    xml: str
    interface: str
    ops: tuple[str, ...]
    sources: tuple[str, ...]
    toolchain: str  # the one that builds it
    converter: str | None = None  # the source of what tells the converter shapes
    measures: bool = False  # for QNN's CPU backend

    @property
    def at(self) -> str:
        """The place that says it."""
        return f"op_packages.{self.ops[0]}" + (".measured_by" if self.measures else "")

    @property
    def stem(self) -> str:
        return PurePosixPath(self.xml).stem

    @property
    def input(self) -> str:
        """What its library is called where it is taken."""
        return f"{BUILT_INPUT}{self.stem}"


def packages_work(graph: Graph) -> Work:
    """What an SDK builds ships from where it is built; "device" has what comes built."""
    ships = any(package.on_device for package in graph.op_packages)
    return Work(
        call="qnnbuild.work.op_packages:packages",
        params={"packages": [_params(package) for package in graph.op_packages]},
        outputs=("here", *(["device"] if ships else []), "operators"),
        tools=("package:pyelftools",),
    )


def _params(package: OpPackage) -> dict[str, Json]:
    return {
        "op": package.op,
        "interface": package.interface,
        "library": file_here(package) if package.sources else package.library,
        "on_device": dict(package.on_device),
        "xml": package.xml,
        **({"built": f"{BUILT_INPUT}{_stem(package)}"} if package.sources else {}),
    }


@runtime_checkable
class PackageBuilder(Protocol):
    """A toolchain that builds packages out of sources."""

    def skeleton(self, package: Built) -> Work:
        """Input "xml" → "skeleton": what the user's sources are put into."""
        ...

    def built(self, package: Built, target: str) -> Work:
        """Inputs "skeleton" and "sources" → "library", for what make calls `target`."""
        ...

    def building_problems(self, graph: Graph, package: Built) -> Iterable[Problem]:
        """What these tools lack for it."""
        ...


def built_packages(graph: Graph, toolchain: str) -> list[Built]:
    """What `op_packages:` says with sources, by definition; `toolchain` is the graph's own."""
    by_xml: dict[str, list[OpPackage]] = {}
    for package in graph.op_packages:
        if package.sources and package.xml is not None:
            by_xml.setdefault(package.xml, []).append(package)
    return [
        Built(
            xml=xml,
            interface=some[0].interface,
            ops=tuple(package.op for package in some),
            sources=tuple(dict.fromkeys(file for package in some for file in package.sources)),
            toolchain=some[0].built_with or toolchain,
            converter=next((p.converter for p in some if is_source(p.converter)), None),
        )
        for xml, some in by_xml.items()
    ]


def measuring_packages(graph: Graph, toolchain: str) -> list[Built]:
    """The same of those for QNN's CPU backend, which `toolchain` measures with."""
    by_xml: dict[str, list[tuple[str, MeasuredBy]]] = {}
    for package in graph.op_packages:
        by = package.measured_by
        if by is not None and by.sources and by.xml is not None:
            by_xml.setdefault(by.xml, []).append((package.op, by))
    return [
        Built(
            xml=xml,
            interface=some[0][1].interface,
            ops=tuple(op for op, _ in some),
            sources=tuple(dict.fromkeys(file for _, by in some for file in by.sources)),
            toolchain=toolchain,
            measures=True,
        )
        for xml, some in by_xml.items()
    ]


def is_source(file: str | None) -> bool:
    return PurePosixPath(file or "").suffix in (".cpp", ".cc", ".cxx")


def targets_for(arch: int) -> tuple[str, ...]:
    """What make is asked for, for a device of this generation."""
    return ANDROID, f"htp_v{arch}"


def file_here(package: OpPackage) -> str:
    """The library that a compile loads, without its folder; nothing where none is said."""
    if package.library is not None:
        return PurePosixPath(package.library).name
    return built_file(_stem(package)) if package.sources and package.xml else ""


def built_file(stem: str) -> str:
    """As the SDK calls the library of a package that is called like its XML."""
    return f"libQnn{stem}.so"


def on_device(package: OpPackage) -> Mapping[str, str]:
    """Target → the library's place below a bundle."""
    names = {target: PurePosixPath(file).name for target, file in package.on_device.items()}
    if package.sources and package.xml:
        names = dict.fromkeys(DEVICE_TARGETS, file_here(package))
    return {
        target: f"{DEVICE_FOLDER}/{target.lower()}/{name}" for target, name in sorted(names.items())
    }


def source_problems(graph: Graph) -> Iterator[Problem]:
    """Of packages with `sources:`, whoever builds them."""
    interfaces: dict[str, str] = {}
    for package in graph.op_packages:
        at = place(graph, package, "sources")
        if package.built_with is not None and not package.sources:
            yield Problem(
                message=f"'{package.op}' has no sources that {package.built_with} could build",
                at=place(graph, package, "built_with"),
                hint="sources: the C++ files of the operator",
            )
        if not package.sources:
            continue
        if package.xml is None:
            yield Problem(
                message=f"the sources of '{package.op}' have no definition to be built by",
                at=at,
                hint="xml: what qnn-op-package-generator takes",
            )
            continue
        for key, said in (("library", package.library), ("on_device", package.on_device)):
            if said:
                yield Problem(
                    message=f"'{package.op}' has both sources: and {key}:",
                    at=place(graph, package, key),
                    hint="leave one of them out: sources: are built, library: and on_device: are "
                    "taken as they are",
                )
        if interfaces.setdefault(package.xml, package.interface) != package.interface:
            yield Problem(
                message=f"one package has two functions: {interfaces[package.xml]} and "
                f"{package.interface}",
                at=place(graph, package, "interface"),
                facts=(("xml", package.xml),),
                hint="all operators of one XML are in one package, which has one function",
            )


def comparison_problems(graph: Graph) -> Iterator[Problem]:
    """ONNX Runtime's CPU, which all is compared with, has no such operator."""
    names = ", ".join(package.op for package in graph.op_packages)
    if names and graph.verify.chips != ("none",) and not graph.verify.reference:
        yield Problem(
            message=f"'{graph.name}' has nothing to be compared with: the CPU does not "
            f"know {names}",
            at=graph.places.get("op_packages", graph.places.get("graph")),
            hint="verify: {inputs: …, reference: …} with recorded answers, or verify: "
            "{chips: none}",
        )


def name_problems(graph: Graph) -> Iterator[Problem]:
    """Libraries lie in one folder when they are loaded."""
    for where in ("here", *DEVICE_TARGETS):
        taken: dict[str, str] = {}
        for package in graph.op_packages:
            file = _file(package, where)
            name = PurePosixPath(file).name
            if package.sources and package.xml:
                name = file_here(package)
            if file and taken.setdefault(name, file) != file:
                yield Problem(
                    message=f"two libraries are called '{name}'",
                    at=place(graph, package),
                    facts=(("first", taken[name]), ("and", file)),
                    hint="give one of them another name: they lie in one folder",
                )


def _stem(package: OpPackage) -> str:
    return PurePosixPath(package.xml or "").stem


def _file(package: OpPackage, where: str) -> str:
    """What of the repo becomes the library that lies there."""
    if package.sources:
        return package.xml or ""
    return (package.library if where == "here" else package.on_device.get(where)) or ""


def place(graph: Graph, package: OpPackage, key: str = "") -> Span | None:
    own = graph.places.get(f"op_packages.{package.op}", graph.places.get("op_packages"))
    return graph.places.get(f"op_packages.{package.op}.{key}", own) if key else own
