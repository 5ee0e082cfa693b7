"""The file that tells the HTP how to compile, from chip and options; what an app may set. Pure.

A key that the HTP does not know, or that stands in the wrong part, is passed over in silence: so
only keys of the table are written, each where it belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Chip, Graph
from qnnbuild.toolchains.qairt_names import names_of
from qnnbuild.toolchains.qairt_options import BOTH, GEN, HTP, RUN, Option, chip_word, data, given

DEFAULT_O = 3


def compile_part(
    graphs: Sequence[Graph], chip: Chip, version: str, *, shared: bool = False
) -> dict[str, Json]:
    """What changes the binary. Graphs may differ in their own part; the rest is of the first."""
    first = graphs[0]
    device = device_of(chip, version) | dict(_said(first, "devices", GEN, BOTH))
    context: dict[str, Json] = dict(_said(first, "context", GEN, BOTH))
    if shared:
        context["weight_sharing_enabled"] = True
    return {
        "graphs": [_graph(graph, chip) for graph in graphs],
        "devices": [device],
        **({"context": context} if context else {}),
    }


def device_of(chip: Chip, version: str) -> dict[str, Json]:
    """The chip, in the words of the SDK's version."""
    return {
        "device_id": 0,
        chip_word(version): chip.soc_model,
        "dsp_arch": f"v{chip.arch}",
    }


def run_part(graph: Graph) -> dict[str, Json]:
    """What only changes how a device runs the binary, in the form of the HTP's file."""
    device: dict[str, Json] = dict(_said(graph, "devices", RUN, BOTH))
    if cores := dict(_said(graph, "cores", RUN, BOTH)):
        device["cores"] = [{"core_id": 0, **cores}]
    parts: dict[str, Json] = {
        section: found
        for section in ("context", "groupContext", "memory")
        if (found := dict(_said(graph, section, RUN, BOTH)))
    }
    if device:
        parts["devices"] = [{"device_id": 0, **device}]
    return parts


def reads_back(graph: Graph, chip: Chip) -> dict[str, Json]:
    """What the binary must say of the graph: a file that did not count leaves 0 and 4 MB there."""
    asked = _graph(graph, chip)
    told: dict[str, Json] = {"O": asked["O"], "vtcm_mb": asked["vtcm_mb"]}
    if "hvx_threads" in asked:
        told["hvx_threads"] = asked["hvx_threads"]
    return told


def _graph(graph: Graph, chip: Chip) -> dict[str, Json]:
    return {
        "graph_names": [names_of(graph).graph],
        "vtcm_mb": chip.vtcm_mb,
        "O": DEFAULT_O,
        **dict(_said(graph, "graphs", GEN, BOTH)),
    }


def _said(graph: Graph, at: str, *used: str) -> Iterator[tuple[str, Json]]:
    """Keys and values; one that is written out and is the default is none."""
    known: Mapping[str, Option] = data().sections[HTP]
    for name, value in sorted(given(graph, HTP).items()):
        option = known.get(name)
        if option is None or option.said_by or option.at != at or option.used not in used:
            continue
        if _text(value) != option.default:
            yield option.key, value


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
