"""Operators of the user's own: what the plugin is told of them, and what cannot be done with them.

Seen with onnxruntime-qnn 2.7.0 on x86-64: libQnnHtp of the package loads a library only for the
target CPU, which is the emulator's and the compiler's machine; with HTP, or no word, it says "Op
package registration is not supported". A bare file name is looked for on the system's paths, so
a path has a folder in front. The graph loads only if ORT_QNN_CUSTOM_OP_DOMAINS names the
operator's domain before the plugin is registered; the documentation of 2.4.0 has no word of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Graph, OpPackage
from qnnbuild.toolchains.own_packages import (
    DEVICE_TARGETS,
    TARGET_HERE,
    comparison_problems,
    file_here,
    name_problems,
    on_device,
    place,
    source_problems,
)

NO_DUMPS = {
    "dlc": "QNN's IR backend registers no packages",
    "saver": "the saver takes the package for itself, and the compiler then refuses the operator",
}
"""Seen: QNN_COMMON_ERROR_NOT_SUPPORTED, and backendValidateOpConfig with error 4005."""

BY_HAND = (
    "built_with: an SDK that qnnbuild.yaml declares, as qairt-2.40; or by hand: "
    "qnn-op-package-generator -p XML -o DIR, the code into src/ops/, make htp_x86, htp_aarch64 and "
    "htp_v79; then library: and on_device:"
)


def option_here(graph: Graph) -> str:
    """The option's text for a compile, which has the libraries beside its model."""
    return ",".join(
        f"{package.op}:./{file_here(package)}:{package.interface}:{TARGET_HERE}"
        for package in graph.op_packages
        if file_here(package)
    )


def option_on_device(graph: Graph) -> str:
    """The option's text for an app, whose folder is the bundle's."""
    return ",".join(
        f"{package.op}:./{file}:{package.interface}:{target}"
        for package in graph.op_packages
        for target, file in on_device(package).items()
    )


def op_package_problems(graph: Graph) -> Iterator[Problem]:
    for package in graph.op_packages:
        yield from _incomplete(graph, package)
    if graph.op_packages:
        yield from _no_dump(graph)
        yield from source_problems(graph)
        yield from name_problems(graph)
        yield from _nothing_computes_it(graph)


def _incomplete(graph: Graph, package: OpPackage) -> Iterator[Problem]:
    at = place(graph, package)
    if package.sources:
        if package.built_with is None:
            yield Problem(
                message=f"the sources of '{package.op}' cannot be built: the toolchain ort is made "
                "of packages from PyPI, and none has the SDK's headers",
                at=place(graph, package, "sources"),
                hint=BY_HAND,
            )
        return
    if package.library is None:
        yield Problem(
            message=f"'{package.op}' has no library, and nothing compiles it without",
            at=at,
            hint="library: the package built for x86-64 Linux (make htp_x86), or sources:",
        )
    missing = [target for target in DEVICE_TARGETS if target not in package.on_device]
    if missing:
        yield Problem(
            message=f"no device can run '{package.op}': on_device: lacks {' and '.join(missing)}",
            at=place(graph, package, "on_device"),
            hint="on_device: {CPU: what arm64 registers (make htp_aarch64), HTP: what the Hexagon "
            "computes (make htp_v79)}",
        )


def _no_dump(graph: Graph) -> Iterator[Problem]:
    for dump, why in NO_DUMPS.items():
        if dump in graph.dumps:
            yield Problem(
                message=f"dumps: [{dump}] cannot be made of operators of your own: {why}",
                at=graph.places.get(f"dumps.{dump}", graph.places.get("dumps")),
                hint="op_trace, qnn_graph and input_graph can",
            )


def _nothing_computes_it(graph: Graph) -> Iterator[Problem]:
    """ONNX Runtime's CPU, which all is compared with, has no such operator."""
    at = graph.places.get("op_packages", graph.places.get("graph"))
    names = ", ".join(package.op for package in graph.op_packages)
    if graph.quantization is not None or graph.auto_from:
        yield Problem(
            message=f"'{graph.name}' cannot be quantized here: the CPU, which measures ranges, "
            f"does not know {names}",
            at=graph.places.get("precision", at),
            hint="precision: fp16, or qdq for a model that you have quantized yourself",
        )
    yield from comparison_problems(graph)
