"""What lands is what was asked for, or nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.digest import digest_bytes
from qnnbuild.remote.cache import GONE, Landing, Trouble, landed, several


def landing(folder: Path, contents: bytes) -> Landing:
    return Landing(digest=digest_bytes(contents), size=len(contents), path=folder / "file")


def test_parts_come_together(tmp_path: Path) -> None:
    one = landing(tmp_path, b"abcdef")

    def fill(to: Landing) -> bool:
        for part in (b"abc", b"", b"def"):
            to.write(part)
        return True

    assert landed(one, fill) is None
    assert one.path.read_bytes() == b"abcdef"


@pytest.mark.parametrize(
    ("sent", "told"),
    [
        (b"abc", "3 of the 6 bytes of bef57ec7"),
        (b"abcdefg", "more than the 6 bytes of bef57ec7"),
        (b"abcdeF", "other bytes than those of bef57ec7"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, sent: bytes, told: str) -> None:
    def fill(to: Landing) -> bool:
        to.write(sent)
        return True

    assert (landed(landing(tmp_path, b"abcdef"), fill) or "").startswith(told)


def test_what_is_not_there_is_gone(tmp_path: Path) -> None:
    assert landed(landing(tmp_path, b"abc"), lambda _: False) == GONE


def test_of_several_the_first_error_is_raised_when_all_have_ended() -> None:
    done: list[int] = []

    def do(number: int) -> None:
        done.append(number)
        if number in (2, 5):
            raise Trouble(f"{number} failed")

    with pytest.raises(Trouble, match="2 failed"):
        several(do, range(8))

    assert sorted(done) == list(range(8))
