"""What a bundle of Qualcomm's SDK tells of how its graphs were made. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph
from qnnbuild.model.sdks import PREFIX
from qnnbuild.toolchains import qairt_dlc
from qnnbuild.toolchains.qairt_convert import command
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_routes import DLC, ORT_DLC, route_of

FOLDER = re.compile(r"\{(in|out)\.[^}]*\}/")


def sdk_part(graph: Graph, toolchain: str) -> dict[str, Json]:
    """The graph's name, its route, and what the SDK's tools were told on it."""
    route, version = route_of(graph), toolchain.removeprefix(PREFIX)
    told: dict[str, Json] = {"graph": names_of(graph).graph, "route": route}
    if route == ORT_DLC:  # ONNX Runtime's plugin made it
        return told
    if route == DLC:
        told["converter"] = _plain(qairt_dlc.converter(graph, version).params["argv"])
        if graph.quantization is not None:
            told["quantizer"] = _plain(qairt_dlc.quantizer(graph, version).params["argv"])
        return told
    return {**told, "converter": _plain(command(graph))}


def _plain(words: Any) -> list[Json]:
    """Files by their names alone: folders are of no machine."""
    given: Sequence[str] = words
    return [_file(word) for word in given]


def _file(word: str) -> str:
    return FOLDER.sub("", word).removeprefix("{").removesuffix("}")
