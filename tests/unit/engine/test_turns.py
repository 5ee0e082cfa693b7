"""What stands behind the error of a run."""

from __future__ import annotations

import pytest

from qnnbuild.engine.admission import Admission, Turn
from qnnbuild.engine.memory import Meter
from qnnbuild.engine.short import Short
from qnnbuild.engine.turns import Turns
from qnnbuild.engine.workers import Ended
from qnnbuild.errors import ToolError
from qnnbuild.model.limits import Limits

KILL, NONE = 9, 0


class Kernel(Meter):
    """It has ended one process since the run began: whose, it does not say."""

    def kills(self) -> int:
        return 1


@pytest.mark.parametrize(
    ("signal", "words", "is_short"),
    [
        (NONE, "no such operator", False),
        (KILL, "no such operator", True),
        (NONE, "the converter was ended by signal 9 (SIGKILL)", True),
        (NONE, "run.sh: line 3: 71 Killed", True),
    ],
)
def test_only_what_was_ended_itself_ended_for_want_of_memory(
    signal: int, words: str, is_short: bool
) -> None:
    turns = Turns()
    turns._admission = Admission(Limits(), meter=Kernel())
    error = ToolError("the tool stopped", facts=[("last lines", words)])
    ended = Ended(code=1, signal=signal, late=False, peak_bytes=0, cpu_s=0.0)
    found = turns.what_it_was(error, Turn("a", 0), ended)

    assert isinstance(found, Short) is is_short
    assert is_short or found is error


def test_what_was_stopped_asks_for_more_and_in_the_end_for_all() -> None:
    turn = Turn("a", 2_000)
    first = turn.going
    turn.going.stop()
    turn.again()
    once = (turn.wants, turn.alone, turn.going.was_stopped)
    turn.again()

    assert once == (3_000, False, False)
    assert turn.going is not first
    assert (turn.wants, turn.alone) == (4_500, True)
