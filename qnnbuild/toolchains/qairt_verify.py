"""How a binary of Qualcomm's SDK is run on this host. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Chip, Graph
from qnnbuild.toolchains.qairt_htp import device_of
from qnnbuild.toolchains.qairt_op_packages import registered_here
from qnnbuild.toolchains.qairt_options import CONVERTER, given
from qnnbuild.toolchains.qairt_routes import CPP, route_of


def verify_params(graph: Graph, chip: Chip, stem: str, version: str) -> dict[str, Json]:
    """Of the compile only what says how inputs and outputs lie; the chip, so that it is checked."""
    asked, packages = given(graph, CONVERTER), registered_here({graph.name: graph})
    return {
        "graph": graph.name,
        "stem": stem,
        "soc_model": chip.soc_model,
        "arch": chip.arch,
        "keeps_layout": list(keeps_layout(graph)),
        # a DLC has the model's own layouts, but for those that its binary's facts tell
        "keeps_all": asked.get("preserve_io") is True or route_of(graph) != CPP,
        "htp": {"devices": [device_of(chip, version)]},
        **({"op_packages": packages} if packages else {}),
    }


def keeps_layout(graph: Graph) -> Iterator[str]:
    """Inputs and outputs whose dimensions the converter leaves in their order, as is said."""
    asked = given(graph, CONVERTER).get("preserve_io_layout", ())
    kept = asked if isinstance(asked, (list, tuple)) else ()
    said = [name for name, spec in graph.inputs.items() if spec.layout is not None]
    yield from dict.fromkeys([*said, *map(str, kept)])
