"""The command that does it again."""

from __future__ import annotations

import pytest

from qnnbuild.bridge.repeat import of_actions, typed


@pytest.mark.parametrize(
    ("argv", "told"),
    [
        (["/v/bin/doit"], "doit"),
        (["/v/bin/doit", "-n", "4", "bundle/*"], "doit -n 4 'bundle/*'"),
        (["/v/bin/qnnbuild", "build", "--no-trust", "m"], "qnnbuild build --no-trust m"),
        (["/v/lib/doit/__main__.py", "run", "m"], "python -m doit run m"),
    ],
)
def test_what_was_typed_can_be_pasted(argv: list[str], told: str) -> None:
    assert typed(argv) == told


@pytest.mark.parametrize(
    ("argv", "given", "told"),
    [
        (["doit", "-n", "4", "-c"], {}, "doit fetch/m 'a b'"),
        (["doit", "-f", "x.py"], {"dodoFile": "x.py"}, "doit -f x.py fetch/m 'a b'"),
        (["doit", "--trust"], {"trust": True}, "doit --trust fetch/m 'a b'"),
        (["doit"], {"trust": False, "cwdPath": None}, "doit fetch/m 'a b'"),
        (["qnnbuild", "build", "-n", "2"], {}, "qnnbuild build fetch/m 'a b'"),
        (["qnnbuild", "--no-trust", "build"], {}, "qnnbuild build --no-trust fetch/m 'a b'"),
        (["qnnbuild", "build", "--no-tr"], {}, "qnnbuild build --no-trust fetch/m 'a b'"),
        (["/q/qnnbuild/__main__.py", "build"], {}, "python -m qnnbuild build fetch/m 'a b'"),
    ],
)
def test_single_actions_are_built_by_the_same_program_in_the_same_way(
    argv: list[str], given: dict[str, object], told: str
) -> None:
    assert of_actions(argv, given, ["fetch/m", "a b"]) == told
