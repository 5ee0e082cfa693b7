"""The gate's file: what of it counts as none, whoever wrote it."""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable
from pathlib import Path

import pytest

from qnnbuild.engine import gate, glance
from qnnbuild.engine.gate_file import Landed, group_of
from qnnbuild.engine.glance import FORM, NUMBERS, TEXTS, Parts, bytes_of, text_of
from tests.unit.engine.checkout import Checkout, checkout_in


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    return checkout_in(tmp_path, monkeypatch)


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-9])


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


def _another_form(file: Path) -> None:
    file.write_bytes(file.read_bytes().replace(FORM, b"qnnbuild gate 9\n"))


@pytest.mark.parametrize("damage", [_cut, _flip, _empty, _another_form])
def test_a_damaged_gate_counts_as_none(checkout: Checkout, damage: Callable[[Path], None]) -> None:
    checkout.shut()
    damage(gate.gate_file(checkout.root))

    assert checkout.look().recipes is None


def test_a_gate_that_came_with_the_repo_is_not_believed(
    checkout: Checkout, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It knows the folder, the Python and the environment, and names no file to be compared."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "__init__.py").write_text("")
    with monkeypatch.context() as stranger:
        stranger.setattr(glance, "PACKAGE", str(elsewhere))
        checkout.shut()
        assert checkout.look().is_shut

    assert checkout.look().recipes is None


@pytest.mark.parametrize(
    "header",
    [
        b"[]", b"{}", b"{", b"\xff", b'{"groups": 1}', b'{"groups": [], "facts": 1, "ends": 0}',
        b'{"groups": [], "facts": {}, "ends": 1}', b'{"groups": [], "facts": {}, "ends": -1}',
        b'{"groups": [["a", "", true, 1.0, 1]], "facts": {}, "ends": -1}',
        b'{"groups": [["a"]], "facts": {}, "ends": 0}', b"[" * 100_000,
        b'{"groups": [], "facts": {}, "ends": 0}',
    ],
)  # fmt: skip
def test_a_whole_gate_of_another_making_counts_as_none(checkout: Checkout, header: bytes) -> None:
    texts = dict.fromkeys(TEXTS, b"")
    texts |= {"header": header, "world": text_of(glance.mark(checkout.root), {})}
    _write(checkout, texts)

    assert checkout.look().recipes is None


@pytest.mark.parametrize("world", [b"", b"\0", b"\0\0", b"\xff\0\0\xff\0\0", b"{}\0\0a\0b"])
def test_a_gate_of_another_world_counts_as_none(checkout: Checkout, world: bytes) -> None:
    _write(checkout, dict.fromkeys(TEXTS, b"") | {"world": world})

    assert checkout.look().recipes is None


def _write(checkout: Checkout, texts: dict[str, bytes]) -> None:
    """A whole gate without rows."""
    parts = Parts([array("q")] * 4, texts, actions=0, saved_s=0.0, shuts=False)
    file = gate.gate_file(checkout.root)
    file.parent.mkdir()
    file.write_bytes(bytes_of(parts))


@pytest.mark.parametrize("at", range(0, 8 * NUMBERS, 8))
@pytest.mark.parametrize("number", [-1, -(1 << 62), 1 << 62])
def test_a_gate_whose_sizes_are_not_its_own_counts_as_none(
    checkout: Checkout, at: int, number: int
) -> None:
    """The last three are no sizes, and only told."""
    checkout.shut()
    file = gate.gate_file(checkout.root)
    body = bytearray(file.read_bytes()[len(FORM) : -4])
    body[at : at + 8] = number.to_bytes(8, "little", signed=True)
    file.write_bytes(FORM + body + zlib.crc32(body).to_bytes(4, "little"))

    is_size = at < 8 * (1 + len(TEXTS))
    assert (gate.look(checkout.root).recipes is None) == is_size


def test_a_gate_that_ends_in_its_numbers_counts_as_none(checkout: Checkout) -> None:
    file = gate.gate_file(checkout.root)
    file.parent.mkdir()
    for size in range(8 * NUMBERS + 1):
        body = bytes(size)
        file.write_bytes(FORM + body + zlib.crc32(body).to_bytes(4, "little"))

        assert checkout.look().recipes is None


def test_of_what_landed_a_line_of_another_making_counts_as_none() -> None:
    group = group_of(
        name="a", recipe="a.yaml", closed=True, saved_s=0.0, names=["x/a"], rows={},
        landed=[Landed("bundle/a@A", "a/A", "0")],
    )  # fmt: skip
    strange = group._replace(landed_text=b"a\tb\n" + group.landed_text + b"\na\tb\tc\td\n")

    assert strange.landed == group.landed == [("bundle/a@A", "a/A", "0")]
    assert group._replace(landed_text=b"").landed == []
