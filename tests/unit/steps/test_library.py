"""library: an action for each system, which takes what convert made and knows no chip."""

from __future__ import annotations

from qnnbuild.actions.action import OutputOf
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import (
    BundleOptions,
    ContextOptions,
    FileSource,
    Graph,
    License,
    Target,
)
from qnnbuild.model.sdks import Sdk
from qnnbuild.steps.library import library
from qnnbuild.toolchains.qairt import Qairt

GRAPH = Graph(name="encoder", source=FileSource(file="m.onnx"), deadline_s=60)
TARGET = Target(
    model="m",
    variant="",
    axes={},
    chip=packaged_chips()["SM8750"],
    toolchain="qairt-2.40",
    license=License(spdx="MIT"),
    graphs=(GRAPH,),
    context=ContextOptions(),
    bundle=BundleOptions(),
)


def test_a_library_takes_what_was_converted() -> None:
    (work,) = Qairt(Sdk(name="qairt-2.40", root="sdk")).libraries(GRAPH).values()

    action = library(TARGET, GRAPH, work, "x86_64-linux-clang", converted="convert/m", name="n")

    assert action.inputs == {"model": OutputOf(action="convert/m", output="model")}
    assert action.outputs == ("library", "facts")
    assert action.tools == ("qairt:qairt-2.40/library/x86_64-linux-clang", "package:pyelftools")
    assert action.passes == ("QNNBUILD_SDK_2_40",)
    assert (action.deadline_s, action.env) == (60, {})
    assert action.about == "encoder for x86_64-linux-clang"
