"""One SDK for a file's tests, with a library that is built once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.standin.lay_out import missing_programs
from tests.standin.running import Sdk, sdk


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Sdk:
    return sdk(tmp_path_factory.mktemp("standin"))


@pytest.fixture
def tools(made: Sdk) -> Iterator[Sdk]:
    """The file's SDK with every switch as it was."""
    yield made
    (made.root / "share/standin/switches.json").unlink(missing_ok=True)


@pytest.fixture(scope="module")
def built(made: Sdk) -> Sdk:
    """With libs/x86_64-linux-clang/libm.so of a quantised graph."""
    if missing := missing_programs():
        pytest.skip(f"model libraries are really compiled; not on this machine: {missing}")
    layout = ("--input_layout", "x", "NTF")
    assert made.convert("--input_list", "list.txt", "--act_bitwidth", 16, *layout).rc == 0
    assert made.library().rc == 0
    return made
