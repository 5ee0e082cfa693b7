"""One mistake of an option a file, as `qnnbuild check` tells it; the whole message beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.sdks import Sdk
from qnnbuild.model.settings import Settings
from qnnbuild.model.targets import read_good_recipes
from qnnbuild.planner import TOOLCHAINS, problems_of
from qnnbuild.text.render import terminal
from qnnbuild.toolchains import ort_option_checks
from qnnbuild.toolchains.ort_versions import Versions
from qnnbuild.toolchains.qairt import Qairt

BAD = sorted((Path(__file__).parent / "options").glob("*.yaml"))
NEW = Versions(plugin="2.7.0", qairt="2.51.0", qnn_api="2.40.0")
OLD = Versions(plugin="2.0.0", qairt="2.38.0", qnn_api="2.20.0")
SDKS = (
    Qairt(Sdk(name="qairt-2.40", root="sdk", ndk="ndk", hexagon="hexagon")),
    Qairt(Sdk(name="qairt-2.49", root="newer")),
)
TOO_OLD = "version-"  # files that begin so are read with an old plugin


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_mistake_of_an_option_is_told_as_written_beside_it(
    path: Path, golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = OLD if path.name.startswith(TOO_OLD) else NEW
    monkeypatch.setattr(ort_option_checks, "installed", lambda: versions)
    text = (f"recipes/{path.name}", path.read_bytes())

    targets, problems = read_good_recipes([text], packaged_chips(), Settings())
    problems = [*problems, *problems_of(targets, {one.name: one for one in (*TOOLCHAINS, *SDKS)})]

    assert problems
    golden(path.with_suffix(".txt"), terminal(problems))


def test_every_message_belongs_to_a_file() -> None:
    texts = {path.stem for path in (Path(__file__).parent / "options").glob("*.txt")}

    assert texts == {path.stem for path in BAD}
