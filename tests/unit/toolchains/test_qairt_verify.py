"""What is said of a graph so that its binary can be run on this host."""

from __future__ import annotations

from typing import Any

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph, InputSpec
from qnnbuild.model.sdks import Sdk
from qnnbuild.toolchains.qairt import Qairt

CHIP = packaged_chips()["SM8750"]
OLD = Qairt(Sdk(name="qairt-2.40", root="old"))
NEW = Qairt(Sdk(name="qairt-2.48", root="new"))


def graph(**converter: Any) -> Graph:
    given: Any = {"qairt": {"converter": converter}} if converter else {}
    return Graph(
        name="enc-1",
        source=FileSource(file="m.onnx"),
        inputs={"x": InputSpec(layout="NTF"), "y": InputSpec()},
        options=given,
    )


def params(toolchain: Qairt = OLD, **converter: Any) -> dict[str, Any]:
    return dict(toolchain.verify(graph(**converter), CHIP, "enc-1-a").params)


def test_only_names_layouts_and_the_chip_count() -> None:
    work = OLD.verify(graph(), CHIP, "enc-1-a")

    assert work.params == {
        "graph": "enc-1",
        "stem": "enc-1-a",
        "soc_model": 69,
        "arch": 79,
        "keeps_layout": ["x"],
        "keeps_all": False,
        "htp": {"devices": [{"device_id": 0, "soc_id": 69, "dsp_arch": "v79"}]},
    }
    assert work.tools == ("qairt:qairt-2.40/verify", "package:numpy")
    assert work.passes == ("QNNBUILD_SDK_2_40",)


def test_a_newer_sdk_is_told_the_chip_in_its_own_word() -> None:
    assert params(NEW)["htp"] == {"devices": [{"device_id": 0, "soc_model": 69, "dsp_arch": "v79"}]}


def test_layouts_that_stay_are_told() -> None:
    assert params(preserve_io_layout=["z", "x"])["keeps_layout"] == ["x", "z"]
    assert params(preserve_io=True)["keeps_all"] is True


def test_graphs_that_share_weights_are_compiled_alone_too() -> None:
    two = {"enc": graph(), "dec": graph()}

    work = OLD.shared(two, CHIP, ContextOptions(share_weights=("graphs",)))
    members: Any = work.params["members"]

    assert work.outputs == ("context", "facts", "alone", "alone-facts")
    assert [list(one["alone"]) for one in members] == [["htp"]] * 2
    assert [list(one["alone"]["htp"]) for one in members] == [["graphs", "devices"]] * 2
    assert OLD.context(graph(), CHIP, ContextOptions()).outputs == ("context", "facts")
