"""One bad recipe a file, the whole message beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.errors import QnnbuildError
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.settings import read_settings
from qnnbuild.model.targets import read_recipes
from qnnbuild.text.render import terminal

BAD = sorted((Path(__file__).parent / "errors").glob("*.yaml"))
SETTINGS = "settings-"  # files that begin so are settings, the others recipes


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_a_bad_file_is_told_as_written_beside_it(
    path: Path, golden: Callable[[Path, str], None]
) -> None:
    with pytest.raises(QnnbuildError) as caught:
        read(path)

    assert caught.value.exit_code == 2
    golden(path.with_suffix(".txt"), terminal(caught.value.problems))


def read(path: Path) -> None:
    if path.name.startswith(SETTINGS):
        read_settings(path.read_bytes())
    else:
        read_recipes([(f"recipes/{path.name}", path.read_bytes())], packaged_chips())


def test_every_message_belongs_to_a_file() -> None:
    texts = {path.stem for path in (Path(__file__).parent / "errors").glob("*.txt")}

    assert texts == {path.stem for path in BAD}
