"""What becomes of those who wait for a server that has gone."""

from __future__ import annotations

import json
import socket
from concurrent.futures import Future
from unittest.mock import Mock

import pytest

from qnnbuild.engine.workers import Connection, Ended, Going, Lost, Workers, end_group


def connection(*answers: object) -> tuple[Connection, Future[Ended]]:
    """One run waits at it, and it says `answers`."""
    future: Future[Ended] = Future()
    wire = Mock(spec=socket.socket, __enter__=Mock(), __exit__=Mock(return_value=False))
    lines = Mock(__enter__=Mock(), __exit__=Mock(return_value=False))
    lines.__iter__ = Mock(return_value=iter(json.dumps(one).encode() for one in answers))
    made = Connection(socket=wire, answers=lines, waiting={1: future}, going={1: Going()})
    return made, future


def test_the_end_of_a_server_is_not_that_of_the_next_one() -> None:
    workers = Workers()
    old, lost = connection()
    new, waits = connection()
    workers._connection = new
    workers._listen(old)

    assert isinstance(lost.exception(0), Lost)
    assert not waits.done()
    assert workers._connection is new


def test_whoever_waits_hears_of_the_end_also_where_an_answer_makes_no_sense() -> None:
    workers = Workers()
    broken, lost = connection({"number": 1, "strange": 0})
    workers._connection = broken
    with pytest.raises(TypeError):  # the thread's end, which Python tells
        workers._listen(broken)

    assert isinstance(lost.exception(0), Lost)
    assert workers._connection is None


@pytest.mark.parametrize("group", [-1, 0, 1])
def test_no_group_but_a_run_s_own_is_ended(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With 1 the kernel would end every process of the machine."""
    killed = Mock()
    monkeypatch.setattr("qnnbuild.engine.workers.os.killpg", killed)
    end_group(group)
    Going().stop()
    end_group(4711)

    assert [call.args[0] for call in killed.call_args_list] == [4711]
