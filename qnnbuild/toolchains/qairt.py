"""The toolchains `qairt-<version>`: Qualcomm's own SDK, in as many versions as a repo declares.

convert makes C++, library compiles it for this host and for others, and context lets the HTP's
library prepare it for a chip. With `route: dlc` or `route: ort-dlc` there is a DLC in their place.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from qnnbuild.digest import Json
from qnnbuild.errors import Problem
from qnnbuild.model.recipe import Chip, ContextOptions, Graph, RunOptions
from qnnbuild.model.sdk_systems import ANDROID, HOST, System
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains import qairt_dlc
from qnnbuild.toolchains.ortqnn import OrtQnn
from qnnbuild.toolchains.own_packages import Built, packages_work
from qnnbuild.toolchains.qairt_convert import command
from qnnbuild.toolchains.qairt_extensions import compile_extensions
from qnnbuild.toolchains.qairt_htp import compile_part, reads_back
from qnnbuild.toolchains.qairt_inputs import input_problems, word_problems
from qnnbuild.toolchains.qairt_layouts import layout_problems, orders
from qnnbuild.toolchains.qairt_names import name_problems, names_of
from qnnbuild.toolchains.qairt_op_packages import (
    building_problems,
    built_work,
    op_package_problems,
    registered_here,
    skeleton_work,
)
from qnnbuild.toolchains.qairt_option_checks import option_problems
from qnnbuild.toolchains.qairt_options import CONVERTER, data, given, has
from qnnbuild.toolchains.qairt_routes import CPP, DLC, ORT_DLC, route_of, route_problems
from qnnbuild.toolchains.qairt_sharing import sharing_problems
from qnnbuild.toolchains.qairt_systems import system_problems, systems_of
from qnnbuild.toolchains.qairt_verify import verify_params
from qnnbuild.toolchains.work import Work

PAGE_BYTES = 16 << 10
LDFLAGS = f"-Wl,-z,max-page-size={PAGE_BYTES}"
"""Android 15 loads no library whose pages are smaller."""

SDK_TOOL = "qairt"
"""Begins the word of a tool of an SDK: "qairt:<toolchain>/<part>"."""


class Qairt:
    """One version of the SDK, by the name under which it is declared."""

    can_run = True
    """The SDK's own libQnnHtp.so runs on this host what it compiles."""

    def __init__(self, sdk: Sdk) -> None:
        self.sdk = sdk
        self.name = sdk.name
        self.version = sdk.version

    @property
    def tools(self) -> tuple[str, ...]:
        parts = (CONVERTER, f"library/{HOST}", "context", "verify")
        return tuple(self._tool(part) for part in parts)

    def problems(
        self, graph: Graph, chip: Chip, context: ContextOptions | None = None
    ) -> Iterable[Problem]:
        yield from name_problems(graph, systems_of(graph))
        yield from self._not_for_it(graph, context or ContextOptions())
        yield from route_problems(graph)
        yield from qairt_dlc.dlc_problems(graph, chip, self.version)
        yield from input_problems(graph)
        yield from word_problems(graph)
        yield from layout_problems(graph)
        yield from option_problems(graph, chip, self.version)
        yield from op_package_problems(graph, self.name)
        since = data().arch_since.get(chip.arch, "")
        if not has(self.version, since):
            yield Problem(
                message=f"{chip.name} is HTP v{chip.arch}, which came with {since}; the SDK is "
                f"{self.version}",
                at=graph.places.get("graph"),
                hint="leave the chip out, or take a newer SDK",
            )
        yield from system_problems(graph, self.sdk)

    def _not_for_it(self, graph: Graph, context: ContextOptions) -> Iterator[Problem]:
        """Keys of a recipe that mean something to the toolchain ort only."""
        one_chip = "leave it out: a binary of the SDK is for one chip"
        no_onnx = "leave it out: there is no ctx.onnx"
        said = (
            ("backend", graph.backend != "htp", "leave it out: the SDK compiles for the HTP"),
            ("cpu_fallback", graph.cpu_fallback != "refuse", "leave it out: all runs on the NPU"),
            ("lora", graph.lora is not None, "toolchain: ort takes adapters"),
            ("run", graph.run != RunOptions(), "options: {qairt: {htp: {perf_profile: burst}}}"),
            ("context.embed", context.embed, no_onnx),
            ("context.node_name_prefix", bool(context.node_name_prefix), no_onnx),
            ("context.chip_groups", bool(context.chip_groups), one_chip),
        )
        for key, is_said, hint in said:
            if is_said:
                at = graph.places.get(key) or graph.places.get("graph")
                message = f"'{key.rpartition('.')[2]}' is nothing to the toolchain {self.name}"
                yield Problem(message=message, at=at, hint=hint)

    def searchable(self, graph: Graph, chip: Chip) -> Graph:
        return graph

    def packages(self, graph: Graph) -> Work:
        return packages_work(graph)

    def skeleton(self, package: Built) -> Work:
        return skeleton_work(self.sdk, package, f"{SDK_TOOL}:{self.name}")

    def built(self, package: Built, target: str) -> Work:
        return built_work(self.sdk, package, target, f"{SDK_TOOL}:{self.name}")

    def building_problems(self, graph: Graph, package: Built) -> Iterable[Problem]:
        return building_problems(self.sdk, graph, package)

    def convert(self, graph: Graph) -> Work:
        route = route_of(graph)
        if route == ORT_DLC:
            return OrtQnn().convert(graph)
        if route == DLC and graph.quantization is not None:
            return self._of_sdk(qairt_dlc.quantizer(graph, self.version), "quantizer")
        if route == DLC:
            return self._of_sdk(qairt_dlc.converter(graph, self.version), "dlc-converter")
        return Work(
            call="qnnbuild.work.qairt_convert:convert",
            params={
                "stem": names_of(graph).stem,
                "argv": list(command(graph)),
                "keeps_layout": list(_keeps_layout(graph)),
            },
            outputs=("model",) if graph.quantization is None else ("model", "quantization"),
            tools=(self._tool(CONVERTER), "package:numpy"),
            passes=self._passes,
        )

    def unquantized(self, graph: Graph) -> Work | None:
        if route_of(graph) != DLC or graph.quantization is None:
            return None
        return self._of_sdk(qairt_dlc.converter(graph, self.version), "dlc-converter")

    def lowered(self, graph: Graph) -> Work | None:
        return qairt_dlc.dump(graph) if route_of(graph) == ORT_DLC else None

    def _of_sdk(self, work: Work, part: str) -> Work:
        """By a Python tool of the SDK."""
        tools = (self._tool(part), "package:numpy")
        return replace(work, tools=tools, passes=self._passes)

    def libraries(self, graph: Graph) -> Mapping[str, Work]:
        """For this host, which compiles it for a chip, and for what else the recipe names."""
        return {
            system.name: self._library(graph, system)
            for system in systems_of(graph)
            if not system.on_windows
        }

    def context(self, graph: Graph, chip: Chip, context: ContextOptions) -> Work:
        return self._compile({graph.name: graph}, chip)

    def sharing_problems(self, graphs: Sequence[Graph]) -> Iterable[Problem]:
        yield from qairt_dlc.mixed_problems(graphs)
        yield from sharing_problems(graphs)

    def shared(self, graphs: Mapping[str, Graph], chip: Chip, context: ContextOptions) -> Work:
        return self._compile(graphs, chip)

    def alike(self, graph: Graph) -> Hashable:
        return graph.name

    def multi(
        self, graphs: Sequence[Graph], chips: Sequence[Chip], context: ContextOptions
    ) -> Work:
        raise ValueError(f"a binary of {self.name} is for one chip")

    def verify(self, graph: Graph, chip: Chip, stem: str) -> Work:
        """The SDK's qnn-net-run on the host; nothing of the compile's options counts any more."""
        return Work(
            call="qnnbuild.work.verify_qairt:verify",
            params=verify_params(graph, chip, stem, self.version),
            outputs=("outputs", "numbers"),
            tools=(self._tool("verify"), "package:numpy"),
            passes=self._passes,
        )

    def _library(self, graph: Graph, system: System) -> Work:
        return Work(
            call="qnnbuild.work.qairt_library:library",
            params={
                "stem": names_of(graph).stem,
                "target": system.name,
                "machine": system.machine,
                "page_bytes": PAGE_BYTES if system.name == ANDROID else 0,
                "ldflags": LDFLAGS,
            },
            outputs=("library", "facts"),
            tools=(self._tool(f"library/{system.name}"), "package:pyelftools"),
            passes=self._passes,
        )

    def _compile(self, graphs: Mapping[str, Graph], chip: Chip) -> Work:
        """Of several graphs each alone, too: no host runs a binary with shared weights."""
        together = list(graphs.values())
        shared = len(together) > 1
        members: list[Json] = [
            {
                "stem": stem,
                "graph": names_of(graph).graph,
                "reads_back": reads_back(graph, chip),
                **({"alone": self._asked([graph], chip)} if shared else {}),
                **({"named_by_dlc": True} if route_of(graph) == ORT_DLC else {}),
                **({"orders": found} if (found := orders(graph)) else {}),
            }
            for stem, graph in graphs.items()
        ]
        dlc = route_of(together[0]) != CPP
        return Work(
            call="qnnbuild.work.qairt_context:context",
            params={
                "binary": next(iter(graphs)),
                "members": members,
                **self._asked(together, chip),
                "soc_model": chip.soc_model,
                "arch": chip.arch,
                **_registered(graphs),
                **({"dlc": True} if dlc else {}),
            },
            outputs=("context", "facts", *(("alone", "alone-facts") if shared else ())),
            tools=tuple(
                self._tool(part) for part in ("context", *(["dlc-library"] if dlc else []))
            ),
            passes=self._passes,
            takes_names=False,
        )

    def _asked(self, graphs: Sequence[Graph], chip: Chip) -> dict[str, Json]:
        """The HTP's own file, and what stands around it where there is anything."""
        around = compile_extensions(graphs)
        htp = compile_part(graphs, chip, self.version, shared=len(graphs) > 1)
        return {"htp": htp, **({"extensions": around} if around else {})}

    def _tool(self, part: str) -> str:
        return f"{SDK_TOOL}:{self.name}/{part}"

    @property
    def _passes(self) -> tuple[str, ...]:
        return (self.sdk.variable,)


def _registered(graphs: Mapping[str, Graph]) -> dict[str, Json]:
    text = registered_here(graphs)
    return {"op_packages": text} if text else {}


def _keeps_layout(graph: Graph) -> Iterator[str]:
    """Inputs whose dimensions the converter leaves in their order."""
    asked = given(graph, CONVERTER)
    kept = asked.get("preserve_io_layout", ())
    for name, spec in graph.inputs.items():
        if spec.layout is not None or asked.get("preserve_io") is True or name in kept:
            yield name
