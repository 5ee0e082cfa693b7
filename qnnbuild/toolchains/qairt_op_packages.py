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
    DEVICE_FOLDER,
    DEVICE_TARGETS,
    HERE,
    TARGET_HERE,
    Built,
    built_file,
    file_here,
    name_problems,
    on_device,
    place,
    source_problems,
)
from qnnbuild.toolchains.work import Work

BUILDS = {HERE: "op-package", ANDROID: "op-package/aarch64-android"}
"""What is made → the part of the SDK that counts; for the Hexagon what counts on this host."""


def skeleton_work(sdk: Sdk, built: Built, tool: str) -> Work:
    return Work(
        call="qnnbuild.work.qairt_skeleton:skeleton",
        params={"xml": built.xml, "ops": list(built.ops)},
        outputs=("skeleton",),
        tools=(f"{tool}/skeleton",),
        passes=(sdk.variable,),
    )


def built_work(sdk: Sdk, built: Built, target: str, tool: str) -> Work:
    """`target` is what make is asked for."""
    file = built_file(built.stem)
    if target != HERE:
        folder = "cpu" if target == ANDROID else "htp"
        file = f"{DEVICE_FOLDER}/{folder}/{file}"
    return Work(
        call="qnnbuild.work.qairt_op_package:build",
        params={
            "target": target,
            "ops": list(built.ops),
            "interface": built.interface,
            "file": file,
        },
        outputs=("library",),
        tools=(f"{tool}/{BUILDS.get(target, BUILDS[HERE])}", "package:pyelftools"),
        passes=(sdk.variable,),
    )


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
    if graph.op_packages and graph.calibration is not None:
        names = ", ".join(package.op for package in graph.op_packages)
        yield Problem(
            message=f"'{graph.name}' cannot be measured: that runs on QNN's CPU backend, for which "
            f"the packages of {names} are not",
            at=graph.places.get("precision", graph.places.get("op_packages")),
            hint="precision: fp16, or {weights: 8, activations: 16, encodings: file.json} without "
            "calibration:",
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
    """The definitions, each once; they are the input "definitions"."""
    files = dict.fromkeys(package.xml for package in graph.op_packages if package.xml)
    if files:
        yield "--op_package_config"
        yield from (f"{{in.definitions}}/{file}" for file in files)


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
