"""The toolchain `ort`: ONNX Runtime and its QNN plugin, both from PyPI."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.chips import says_of_itself
from qnnbuild.model.recipe import Chip, ContextOptions, Graph, Quantization
from qnnbuild.toolchains.ort_backends import HTP, backend_problems
from qnnbuild.toolchains.ort_elsewhere import elsewhere_problems
from qnnbuild.toolchains.ort_op_packages import (
    op_package_problems,
    option_here,
    option_on_device,
)
from qnnbuild.toolchains.ort_option_checks import option_problems, says, spelling, usual
from qnnbuild.toolchains.ort_options import BY_NAME, Scope
from qnnbuild.toolchains.ort_precisions import precision_problems, searchable
from qnnbuild.toolchains.ort_run import run_problems
from qnnbuild.toolchains.ort_sharing import sharing_problems
from qnnbuild.toolchains.own_packages import packages_work
from qnnbuild.toolchains.work import Work

NAME = "ort"
BY_CHIP: Mapping[str, Callable[[Chip], int]] = {"vtcm_mb": lambda chip: chip.vtcm_mb}
"""Options with a value for each chip of a binary for several, and what a chip without one has."""
PLAIN = ContextOptions()
HOST = "linux-x64"
DLC = "dlc"
RUN_HERE = (DLC, "saver")
"""Dumps of a session that is made to run, not to compile ahead."""


class OrtQnn:
    """Float models go through as they are, QDQ models too; a session's creation is the compile."""

    name = NAME
    tools = ("package:onnxruntime", "package:onnxruntime-qnn")
    can_run = True

    def problems(
        self, graph: Graph, chip: Chip, context: ContextOptions | None = None
    ) -> Iterable[Problem]:
        yield from backend_problems(graph, context or PLAIN)
        yield from elsewhere_problems(graph, chip, context or PLAIN)
        if graph.backend == HTP:
            yield from op_package_problems(graph)
            yield from precision_problems(graph, chip)
        yield from run_problems(graph)
        yield from option_problems(graph, chip, context or PLAIN)

    def searchable(self, graph: Graph, chip: Chip) -> Graph:
        return searchable(graph, chip)

    def packages(self, graph: Graph) -> Work:
        return packages_work(graph)

    def convert(self, graph: Graph) -> Work:
        """fp16 and fp32 are one work: the compiler chooses the arithmetic, by the chip.

        To quantize takes "feeds" too, and "encodings" where the recipe names a file of them.
        """
        if graph.quantization is not None and not graph.auto_from:
            return Work(
                call="qnnbuild.work.quantize_ort:quantize",
                params={**_quantization(graph.quantization), **_unsigned(graph)},
                outputs=("model", "quantization"),
                tools=("package:onnx", "package:onnxruntime", "package:numpy"),
            )
        return Work(
            call="qnnbuild.work.convert_ort:convert",
            params={"quantized": graph.precision == "qdq"},
            outputs=("model",),
            tools=("package:onnx",),
        )

    def unquantized(self, graph: Graph) -> Work | None:
        return None

    def lowered(self, graph: Graph) -> Work | None:
        return None

    def libraries(self, graph: Graph) -> Mapping[str, Work]:
        """What it converts is an ONNX file, and compiled from that."""
        return {}

    def context(self, graph: Graph, chip: Chip, context: ContextOptions) -> Work:
        if graph.wrapped or graph.genie:
            return _made_elsewhere(graph, chip, context)
        if graph.backend != HTP:
            return Work(
                call="qnnbuild.work.on_device_ort:on_device",
                params={"graph": graph.name, "backend": graph.backend},
                outputs=("context", "facts"),
                tools=("package:onnx",),
            )
        return Work(
            call="qnnbuild.work.context_ort:context",
            params=_compile(graph, chip, context),
            outputs=("context", "facts"),
            # numpy is loaded where compiles are forked from, and so part of the memory they find
            tools=(*self.tools, "package:numpy", "host"),
        )

    def sharing_problems(self, graphs: Sequence[Graph]) -> Iterable[Problem]:
        return sharing_problems(graphs, [dict(_compile_options(graph)) for graph in graphs])

    def shared(self, graphs: Mapping[str, Graph], chip: Chip, context: ContextOptions) -> Work:
        """`order` is said apart: a key does not know in which order `members` stand."""
        return Work(
            call="qnnbuild.work.context_shared:shared",
            params={
                "order": list(graphs),
                "members": {
                    stem: {**_compile(graph, chip, context), "graph": stem}
                    for stem, graph in graphs.items()
                },
            },
            outputs=("context", "facts", "alone", "alone-facts"),
            tools=(*self.tools, "package:numpy", "host"),
        )

    def alike(self, graph: Graph) -> Hashable:
        """All but the VTCM, of which each chip may have its own."""
        options = tuple(one for one in _compile_options(graph) if one[0] not in BY_CHIP)
        return options, graph.cpu_fallback, graph.op_packages

    def multi(
        self, graphs: Sequence[Graph], chips: Sequence[Chip], context: ContextOptions
    ) -> Work:
        first = graphs[0]
        return Work(
            call="qnnbuild.work.context_multi:context",
            params={
                "graph": first.name,
                "chips": [
                    {
                        "name": chip.name,
                        "soc_model": chip.soc_model,
                        "reads_back": _reads_back(graph, chip),
                    }
                    for graph, chip in zip(graphs, chips, strict=True)
                ],
                "options": _options_by_chip(graphs, chips),
                "cpu_fallback": first.cpu_fallback == "allow",
                "embed": context.embed,
                **_prefix(context),
                **_own(first),
            },
            outputs=("context", "facts"),
            tools=(*self.tools, "package:numpy", "host"),
        )

    def verify(self, graph: Graph, chip: Chip, stem: str) -> Work:
        """On the host's emulator; nothing of the compile's options counts any more."""
        return Work(
            call="qnnbuild.work.verify_ort:verify",
            params={
                "graph": graph.name,
                "stem": stem,
                "soc_model": chip.soc_model,
                "cpu_fallback": not graph.on_npu_alone,
                "reads_back": _reads_back(graph, chip),
                **_own(graph),
            },
            outputs=("outputs", "numbers"),
            tools=(*self.tools, "package:numpy"),
        )


def _made_elsewhere(graph: Graph, chip: Chip, context: ContextOptions) -> Work:
    """The binary is taken as it is, and held against the chip."""
    kind, tools = "wrap_genie", ["package:onnx"]
    if graph.wrapped:
        kind, tools = "wrap_context", ["package:onnx", "package:protobuf", *OrtQnn.tools, "host"]
    return Work(
        call=f"qnnbuild.work.{kind}:context",
        params={
            "chip": chip.name,
            "soc_model": chip.soc_model,
            "reads_back": _reads_back(graph, chip),
            "vtcm_mb": chip.vtcm_mb,
            "embed": context.embed,
            **_prefix(context),
        },
        outputs=("context", "facts"),
        tools=tuple(tools),
    )


def _own(graph: Graph) -> dict[str, Json]:
    return {"op_packages": option_here(graph)} if graph.op_packages else {}


def _unsigned(graph: Graph) -> dict[str, Json]:
    """The GPU takes weights as uint8, around a zero point in the middle."""
    return {} if graph.backend == HTP else {"unsigned_weights": True}


def _quantization(wanted: Quantization) -> dict[str, Json]:
    """All that is asked for but the encodings, which are an input by their contents."""
    said: dict[str, Json] = asdict(wanted)
    del said["encodings"]
    return {
        name: list(value) if isinstance(value, tuple) else value for name, value in said.items()
    }


def run_time_options(graph: Graph) -> Mapping[str, str]:
    """What an app should set when it runs the binary. What is of run time only is in no key."""
    told = {
        name: spelling(BY_NAME[name], value)
        for name, value in sorted(graph.options.get(NAME, {}).items())
        # what is compiled on the device is told there how
        if graph.backend != HTP or BY_NAME[name].scope is Scope.RUN_TIME or BY_NAME[name].at_run
    }
    if graph.op_packages:
        told["op_packages"] = option_on_device(graph)
    if told.get("profiling_level", "off") != "off":
        # without a file no session starts, but on Windows
        told.setdefault("profiling_file_path", f"{graph.name}_profiling.csv")
    return told


def _compile_options(graph: Graph) -> Iterator[tuple[str, str]]:
    """Options that change bytes; a default that is written out is none."""
    given = graph.options.get(NAME, {})
    stated = says(graph, PLAIN) if given else {}
    for name, value in sorted(given.items()):
        option = BY_NAME[name]
        text = spelling(option, value)
        if option.scope is Scope.BYTES and text != usual(option, stated):
            yield name, text
    if graph.precision == "bf16":
        yield "htp_bf16_enable", "1"


def _options_by_chip(graphs: Sequence[Graph], chips: Sequence[Chip]) -> dict[str, Json]:
    """The options that all have, and a list of values for those of which each may have its own.

    The plugin knows no word for "not set" in such a list.
    """
    each = [dict(_compile_options(graph)) for graph in graphs]
    options: dict[str, Json] = {k: v for k, v in each[0].items() if k not in BY_CHIP}
    for name, otherwise in BY_CHIP.items():
        if any(name in own for own in each):
            values = [
                own.get(name, str(otherwise(chip))) for own, chip in zip(each, chips, strict=True)
            ]
            options[name] = ",".join(values)
    return options


def dump_options(graph: Graph, kind: str) -> Iterator[tuple[str, str]]:
    """Those of the compile; what counts for a DLC alone; not what only a device could run with."""
    here = kind not in RUN_HERE
    for name, text in _compile_options(graph):
        if here or not BY_NAME[name].hosts or HOST in BY_NAME[name].hosts:
            yield name, text
    if kind == DLC:
        for name, value in sorted(graph.options.get(NAME, {}).items()):
            text = spelling(BY_NAME[name], value)
            if BY_NAME[name].scope is Scope.DUMP and text != BY_NAME[name].default:
                yield name, text


def _compile(graph: Graph, chip: Chip, context: ContextOptions) -> dict[str, Json]:
    """How one graph is compiled, alone or with others."""
    return {
        "graph": graph.name,
        "soc_model": chip.soc_model,
        "options": dict(_compile_options(graph)),
        "cpu_fallback": graph.cpu_fallback == "allow",
        "embed": context.embed,
        "reads_back": _reads_back(graph, chip),
        **_prefix(context),
        **_own(graph),
    }


def _prefix(context: ContextOptions) -> dict[str, Json]:
    return {"node_name_prefix": context.node_name_prefix} if context.node_name_prefix else {}


def _reads_back(graph: Graph, chip: Chip) -> dict[str, Json]:
    """What the binary must say of itself."""
    told: dict[str, Json] = dict(says_of_itself(chip))
    del told["soc_model"]
    if graph.wrapped or graph.genie:
        # whoever compiled it chose the rest
        return {name: told[name] for name in ("soc_type", "arch")}
    if "vtcm_mb" in graph.options.get(NAME, {}):
        told["vtcm_mb"] = int(graph.options[NAME]["vtcm_mb"])
    return told
