"""What a manifest says of running what the SDK compiled. Pure, and in no key of a compile."""

from __future__ import annotations

from collections.abc import Mapping

from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph
from qnnbuild.toolchains.qairt_htp import run_part
from qnnbuild.toolchains.qairt_op_packages import registered_on_device


def manifest_part(graph: Graph) -> Mapping[str, Json]:
    """The HTP's file for a device, and what --op_packages takes there."""
    packages = registered_on_device(graph)
    return {"htp": run_part(graph), **({"op_packages": packages} if packages else {})}
