"""What a bundle of Qualcomm's SDK tells of how its graphs were made. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph
from qnnbuild.model.sdks import PREFIX
from qnnbuild.toolchains.qairt_convert import command
from qnnbuild.toolchains.qairt_dlc import converter_words, quantizer_words
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_routes import CPP, DLC, ROUTE, route_of

FOLDERS = ("{in.model}/", "{out.model}/", "{in.definitions}/")


def sdk_part(graph: Graph, toolchain: str) -> dict[str, Json]:
    """The graph's name inside of binary and library, the route, and the words of its tools.

    A DLC of the plugin has the name that was read out of it: who knows that one puts it here.
    """
    route, version = route_of(graph), toolchain.removeprefix(PREFIX)
    told: dict[str, Json] = {"graph": names_of(graph).graph}
    if route == CPP:
        return {**told, "converter": _plain(command(graph))}
    told[ROUTE] = route
    if route == DLC:
        told["converter"] = _plain(converter_words(graph, version))
        if graph.quantization is not None:
            told["quantizer"] = _plain(quantizer_words(graph, version))
    return told


def _plain(words: Iterable[str]) -> list[Json]:
    """Files by their names alone: folders are of no machine."""
    return [_word(word) for word in words]


def _word(word: str) -> str:
    for folder in FOLDERS:
        word = word.removeprefix(folder)
    return word.removeprefix("{").removesuffix("}")
