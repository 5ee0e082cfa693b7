"""Three ways from an ONNX file to a context with Qualcomm's SDK, and the options of each. Pure.

`cpp`      qnn-onnx-converter, a library that is compiled, the context
`dlc`      qairt-converter, qairt-quantizer where the precision quantizes, the context
`ort-dlc`  the toolchain `ort` converts, its plugin writes a DLC, the SDK compiles that one
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from typing import Any, cast

from qnnbuild.errors import Problem, did_you_mean
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_options import (
    CONVERTER,
    EXTENSIONS,
    HTP,
    SET_BY,
    Option,
    data,
    has,
    options_in,
)

ROUTE = "route"
CPP, DLC, ORT_DLC = "cpp", "dlc", "ort-dlc"
ROUTES = (CPP, DLC, ORT_DLC)
QUANTIZER = "quantizer"
FILE = "qairt_dlc_options.yaml"

Sections = Mapping[str, Mapping[str, Option]]


def route_of(graph: Graph) -> str:
    """One that is no route counts as the usual one: it is told of by `route_problems`."""
    given = _written(graph)
    return given if given in ROUTES else CPP


def route_problems(graph: Graph) -> Iterator[Problem]:
    given = _written(graph)
    if given not in ROUTES:
        yield Problem(
            message=f"'{given}' is no route from a model to a context",
            at=graph.places.get(f"{SET_BY}.{ROUTE}", graph.places.get("options")),
            hint=did_you_mean(str(given), ROUTES, otherwise=f"routes: {', '.join(ROUTES)}"),
        )


def sections_of(route: str) -> Sections:
    """The parts that options.qairt has with this route, and the options of each."""
    usual = data().sections
    if route == CPP:
        return usual
    compiled = {name: usual[name] for name in (HTP, EXTENSIONS)}
    return compiled if route == ORT_DLC else {**_dlc()[1], **compiled}


def route_with(section: str) -> str | None:
    """The first route whose options have this part."""
    return next((route for route in ROUTES if section in sections_of(route)), None)


def renamed_since() -> str:
    """The first version with the flags of the tools for DLCs as the options are called."""
    return _dlc()[0]


def spelled(option: Option, version: str) -> str:
    """The flag of qairt-converter or qairt-quantizer as this version spells it."""
    return option.old if option.old and not has(version, _dlc()[0]) else option.name


@cache
def _dlc() -> tuple[str, Sections]:
    """The version that renamed the flags, and the options of both tools."""
    import yaml  # YAML is not always needed

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # every scalar stays text
    text = resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")
    top = yaml.load(text, Loader=loader)  # noqa: S506 - a base loader makes texts and nothing else
    return top["renamed_since"], {name: options_in(top[name]) for name in (CONVERTER, QUANTIZER)}


def _written(graph: Graph) -> object:
    toolchain = cast(Mapping[str, Any], graph.options).get("qairt", {})
    return toolchain.get(ROUTE, CPP) if isinstance(toolchain, Mapping) else CPP
