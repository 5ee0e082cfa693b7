"""What a terminal shows: lines that fit, whatever its size and whatever names are called."""

from __future__ import annotations

import io

import pytest
from rich.cells import cell_len
from rich.console import Console

from qnnbuild.engine.live_view import LiveView, Picture
from qnnbuild.engine.outlook import Rest
from qnnbuild.engine.status import Going, Status

STATUS = Status(
    done=12,
    total=240,
    told="made 10, reused 2",
    seconds=65,
    going=(
        Going(name="context/silero-vad/vad@SM8750", worker=1, spent_s=30, expected_s=45),
        Going(name="convert/音声モデル/エンコーダー", worker=2, spent_s=50, expected_s=40),
        Going(name="prepare/new/g", worker=3, spent_s=2),
        Going(name="context/big/g@SM8550", worker=4, spent_s=4, waits_for="memory"),
        Going(name="verify/far/g@SM8550", worker=5, spent_s=4, expected_s=8, where="gpu-7"),
    ),
    then=(("bundle/silero-vad@SM8750", ("context/silero-vad/vad@SM8750",)),),
    rest=Rest(seconds=700),
)


def drawn(status: Status, width: int, height: int = 24, **more: object) -> list[str]:
    out = io.StringIO()
    console = Console(file=out, width=width, height=height, **more)  # type: ignore[arg-type]
    console.print(Picture(status), end="")
    return out.getvalue().splitlines()


def test_a_wide_terminal_shows_bars_times_and_what_comes_next() -> None:
    assert [line.rstrip() for line in drawn(STATUS, 100, legacy_windows=False)] == [
        "╸                   12/240  1 min 5 s  about 12 min left  made 10, reused 2",
        "━━━━━━━━━━━━        30 s of about 45 s    context/silero-vad/vad@SM8750",
        "━━━━━━━━━━━━━━━━━━  50 s of about 40 s    convert/音声モデル/エンコーダー",
        "                    2.0 s of ?            prepare/new/g",
        "                    waits for memory      context/big/g@SM8550",
        "━━━━━━━━━           4.0 s of about 8.0 s  verify/far/g@SM8550 on gpu-7",
        "then bundle/silero-vad@SM8750 after context/silero-vad/vad@SM8750",
    ]


def test_a_narrower_one_has_no_bars_and_a_narrow_one_no_times() -> None:
    assert drawn(STATUS, 60)[1].startswith("30 s of about 45 s    context/silero-vad")
    assert drawn(STATUS, 30)[1].startswith("context/silero-vad/vad@SM8750")


@pytest.mark.parametrize("height", [1, 2, 3, 4, 6, 24])
@pytest.mark.parametrize("width", [1, 2, 5, 20, 39, 40, 41, 60, 72, 73, 100, 300])
def test_no_line_is_as_wide_as_the_terminal_and_all_fit(width: int, height: int) -> None:
    lines = drawn(STATUS, width, height)

    assert max(map(cell_len, lines)) <= max(width - 1, 1)
    assert len(lines) <= max(height - 1, 1)


def test_where_not_all_workers_have_room_the_rest_is_counted() -> None:
    assert [line.rstrip() for line in drawn(STATUS, 60, 5)][-2:] == [
        "and 4 more",
        "then bundle/silero-vad@SM8750 after context/silero-vad/vad…",
    ]


def test_a_name_moves_no_cursor() -> None:
    bad = Going(name="a\x1b[2J\nb", worker=1, spent_s=1)
    status = Status(done=0, total=1, told="", seconds=1, going=(bad,), then=(), rest=None)

    assert "\x1b" not in "".join(drawn(status, 80))


def test_what_is_said_stands_above_and_the_picture_is_taken_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    out = Terminal()
    view = LiveView(out, lambda: STATUS)
    view.say("made fetch/m (0.1 s)\n")
    view.close()

    assert "made fetch/m (0.1 s)\n" in out.getvalue()
    assert out.getvalue().endswith("\x1b[2K")  # the last of its lines


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True
