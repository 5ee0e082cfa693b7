"""Operators of the user's own with Qualcomm's SDK: how it builds them, and who is told of them.

The converter wants their definitions, the compile and net-run their libraries. A package works
with the SDK only that built it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph, OpPackage
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.own_packages import (
    ANDROID,
    CONVERTS,
    DEVICE_FOLDER,
    DEVICE_TARGETS,
    HERE,
    MEASURES,
    TARGET_HERE,
    Built,
    built_file,
    built_packages,
    comparison_problems,
    file_here,
    is_source,
    measuring_packages,
    name_problems,
    on_device,
    place,
    source_problems,
)
from qnnbuild.toolchains.work import Work

BUILDS = {
    HERE: "op-package",
    ANDROID: "op-package/aarch64-android",
    MEASURES: "op-package/plain",
    CONVERTS: "op-package/plain",
}
"""What is made → the part of the SDK that counts; for the Hexagon what counts on this host."""

CONVERTER_FILE = "libConverterOpPackage.so"


def skeleton_work(sdk: Sdk, built: Built, tool: str) -> Work:
    return Work(
        call="qnnbuild.work.qairt_skeleton:skeleton",
        params={
            "xml": built.xml,
            "ops": list(built.ops),
            "at": built.at,
            **({"converter": True} if built.converter else {}),
        },
        outputs=("skeleton",),
        tools=(f"{tool}/skeleton",),
        passes=(sdk.variable,),
    )


def built_work(sdk: Sdk, built: Built, target: str, tool: str) -> Work:
    """`target` is what make is asked for."""
    kind = "converter" if target == CONVERTS else "build"
    return Work(
        call=f"qnnbuild.work.qairt_op_package:{kind}",
        params={
            "target": target,
            "ops": list(built.ops),
            "at": built.at,
            "interface": built.interface,
            "file": file_of(built.stem, target),
        },
        outputs=("library",),
        tools=(f"{tool}/{BUILDS.get(target, BUILDS[HERE])}", "package:pyelftools"),
        passes=(sdk.variable,),
    )


def file_of(stem: str, target: str) -> str:
    """The place of what make built: for a device as it lies in a bundle."""
    if target in (HERE, MEASURES, CONVERTS):
        plain = {MEASURES: f"lib{stem}.so", CONVERTS: CONVERTER_FILE}
        return plain.get(target, built_file(stem))
    folder = "cpu" if target == ANDROID else "htp"
    return f"{DEVICE_FOLDER}/{folder}/{built_file(stem)}"


def building_problems(sdk: Sdk, graph: Graph, built: Built) -> Iterator[Problem]:
    """What keeps `sdk` from building the package."""
    package = next(one for one in graph.op_packages if one.op == built.ops[0])
    needed = (
        ("hexagon", sdk.hexagon, "the Hexagon SDK"),
        ("ndk", sdk.ndk, "an Android NDK"),
    )
    for key, declared, what in needed:
        if declared is None:
            yield Problem(
                message=f"building '{built.ops[0]}' needs {what}, and {sdk.name} declares none",
                at=place(graph, package, "sources"),
                hint=f"{key}: in qnnbuild.yaml, under toolchains: {sdk.name}:",
            )


def op_package_problems(graph: Graph, name: str) -> Iterator[Problem]:
    """What the toolchain `name` cannot do with the graph's packages."""
    for package in graph.op_packages:
        yield from _incomplete(graph, package, name)
    yield from source_problems(graph)
    yield from name_problems(graph)
    yield from comparison_problems(graph)
    for package in graph.op_packages:
        yield from _not_measured(graph, package)
        yield from _no_converter(graph, package)


def _not_measured(graph: Graph, package: OpPackage) -> Iterator[Problem]:
    by, at = package.measured_by, place(graph, package, "measured_by")
    if by is None and graph.calibration is not None:
        yield Problem(
            message=f"'{graph.name}' cannot be measured: that runs on QNN's CPU backend, for which "
            f"'{package.op}' has no package",
            at=graph.places.get("precision", place(graph, package)),
            hint="measured_by: {interface: …, library: the package built for it (make all_x86)}, "
            "or precision: fp16",
        )
    elif by is not None and (by.library is None) == (not by.sources or by.xml is None):
        yield Problem(
            message=f"'{package.op}' is measured by a library, or by sources with their xml",
            at=at,
            hint="measured_by: {interface: …, library: …}, or {interface: …, xml: …, sources: …}",
        )


def _no_converter(graph: Graph, package: OpPackage) -> Iterator[Problem]:
    if is_source(package.converter) and not package.sources:
        yield Problem(
            message=f"'{package.converter}' is a source, and nothing builds it without sources:",
            at=place(graph, package, "converter"),
            hint="converter: libConverterOpPackage.so (make cpu), or sources: beside it",
        )


def _incomplete(graph: Graph, package: OpPackage, name: str) -> Iterator[Problem]:
    if package.xml is None and not package.sources:
        yield Problem(
            message=f"'{package.op}' has no definition, and the SDK's converter takes no operator "
            "that it does not know",
            at=place(graph, package),
            hint="xml: what qnn-op-package-generator took",
        )
    if package.built_with not in (None, name):
        yield Problem(
            message=f"a package works with the SDK only that built it: {package.built_with} is not "
            f"{name}",
            at=place(graph, package, "built_with"),
            hint="leave it out: the recipe's own toolchain builds it",
        )
    if package.sources:
        return
    if package.library is None:
        yield Problem(
            message=f"'{package.op}' has neither a library nor sources",
            at=place(graph, package),
            hint="sources: its C++ files, or library: the package built for x86-64 Linux (make "
            "htp_x86)",
        )
    missing = [target for target in DEVICE_TARGETS if target not in package.on_device]
    if missing:
        yield Problem(
            message=f"no device can run '{package.op}': on_device: lacks {' and '.join(missing)}",
            at=place(graph, package, "on_device"),
            hint="on_device: {CPU: make htp_aarch64, HTP: make htp_v79}, or sources: in the place "
            "of library: and on_device:",
        )


def converter_words(graph: Graph) -> Iterator[str]:
    """What tells a converter of the operators: definitions, and libraries that know shapes."""
    files = dict.fromkeys(package.xml for package in graph.op_packages if package.xml)
    if files:
        yield "--op_package_config"
        yield from (f"{{in.definitions}}/{file}" for file in files)
    given = converter_libraries(graph)
    libraries = [f"{{in.converter}}/{file}" for file in given]
    libraries += [
        f"{{in.{converter_input(built)}}}/{CONVERTER_FILE}"
        for built in built_packages(graph, "")
        if built.converter
    ]
    if libraries:
        yield from ("--converter_op_package_lib", ",".join(libraries))


def measuring_words(graph: Graph) -> Iterator[str]:
    """What the graph runs with where ranges are measured."""
    if graph.calibration is None:
        return
    by = [package.measured_by for package in graph.op_packages if package.measured_by]
    entries = [f"{{in.measuring}}/{one.library}:{one.interface}" for one in by if one.library]
    entries += [
        f"{{in.{measuring_input(built)}}}/{file_of(built.stem, MEASURES)}:{built.interface}"
        for built in measuring_packages(graph, "")
    ]
    if entries:
        yield from ("--op_package_lib", ",".join(dict.fromkeys(entries)))


def converter_libraries(graph: Graph) -> tuple[str, ...]:
    """Those that come built, files of the repo."""
    files = (p.converter for p in graph.op_packages if not is_source(p.converter))
    return tuple(dict.fromkeys(file for file in files if file))


def measuring_libraries(graph: Graph) -> tuple[str, ...]:
    by = (package.measured_by for package in graph.op_packages if graph.calibration is not None)
    return tuple(dict.fromkeys(one.library for one in by if one is not None and one.library))


def converter_input(built: Built) -> str:
    return f"converter-{built.stem}"


def measuring_input(built: Built) -> str:
    return f"measuring-{built.stem}"


def registered_here(graphs: Mapping[str, Graph]) -> str:
    """--op_packages of a tool on this host; the libraries are the inputs "packages…"."""
    several = len(graphs) > 1
    found: dict[tuple[str, str], str] = {}
    for stem, graph in graphs.items():
        folder = f"packages-{stem}" if several else "packages"
        for package in graph.op_packages:
            file = file_here(package)
            found.setdefault(
                (file, package.interface),
                f"{{in.{folder}}}/{file}:{package.interface}:{TARGET_HERE}",
            )
    return ",".join(found.values())


def registered_on_device(graph: Graph) -> str:
    """The same on a device, in the bundle's folder."""
    entries = (
        f"./{file}:{package.interface}:{target}"
        for package in graph.op_packages
        for target, file in on_device(package).items()
    )
    return ",".join(dict.fromkeys(entries))
