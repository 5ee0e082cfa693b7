from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from qnnbuild.engine.admission import Admission, Turn, floor_of
from qnnbuild.engine.memory import Memory, Meter
from qnnbuild.engine.neighbours import Neighbours, Told
from qnnbuild.errors import Problem
from qnnbuild.model.limits import Limits

GB = 1_000_000_000


class Machine(Meter):
    """16 GB; what is available is what a test says."""

    def __init__(self) -> None:
        super().__init__(Path("/nowhere"))
        self.total = 16 * GB
        self.available = 15 * GB
        self.stalled = 0.0
        self.used: dict[int, int] = {}  # process → bytes

    def read(self) -> Memory:
        return Memory(total=self.total, available=self.available, stalled=self.stalled)

    def kills(self) -> int:
        return 0


class Queue:
    """An admission with a clock that counts, whose actions end when a test says so."""

    def __init__(self, folder: Path, machine: Machine, limits: Limits) -> None:
        self.told: list[Problem] = []
        self.folder = folder
        self.admission = Admission(
            limits,
            server=lambda: 1,
            tell=self.told.append,
            meter=machine,
            used=lambda pid: machine.used.get(pid, 0),
            neighbours=Neighbours(folder),
            clock=iter(range(1, 1000)).__next__,
            looks_by_itself=False,
        )
        self.open: dict[str, ExitStack] = {}
        self.threads: list[threading.Thread] = []
        self.stopped = False

    def begin(self, name: str, wants: int = GB, *, alone: bool = False, stops: int = 0) -> Turn:
        """It has to be let in at once."""
        turn = Turn(name, wants, alone, stops=stops)
        self.open[name] = ExitStack()
        asked = iter([None])  # once before it stands in the queue, and not again
        self.open[name].enter_context(self.admission.admitted(turn, lambda: next(asked)))
        return turn

    def wait(self, name: str, wants: int = GB, *, alone: bool = False, stops: int = 0) -> None:
        """In a thread of its own; returns once it was refused."""
        turn = Turn(name, wants, alone, stops=stops)
        stands = threading.Event()
        asked: list[None] = []

        def stop_here() -> None:
            asked.append(None)
            if len(asked) > 1:
                stands.set()
            if self.stopped:
                raise KeyboardInterrupt

        def run() -> None:
            with ExitStack() as stack:
                try:
                    stack.enter_context(self.admission.admitted(turn, stop_here))
                except KeyboardInterrupt:
                    return
                self.open[name] = stack.pop_all()

        self.threads.append(threading.Thread(target=run, daemon=True))
        self.threads[-1].start()
        assert stands.wait(10)

    def end(self, name: str) -> None:
        self.open.pop(name).close()

    def running(self) -> list[str]:
        return [turn.name for turn in self.admission.running]

    def until(self, condition: Callable[[], bool]) -> None:
        event = threading.Event()
        for _ in range(500):
            if condition():
                return
            event.wait(0.02)
        pytest.fail(f"it never came; {self.running()} run")

    def close(self) -> None:
        self.stopped = True
        for name in [*self.open]:
            self.end(name)
        for thread in self.threads:
            thread.join(10)


@pytest.fixture
def machine() -> Machine:
    return Machine()


@pytest.fixture
def queue(tmp_path: Path, machine: Machine) -> Iterator[Queue]:
    made = Queue(tmp_path / "n", machine, Limits())
    yield made
    made.close()


def limited(tmp_path: Path, machine: Machine, memory: int | None, **more: bool) -> Queue:
    return Queue(tmp_path / "n", machine, Limits(memory=memory, **more))


def test_as_many_run_as_there_is_memory_for(queue: Queue) -> None:
    for name in "abc":
        queue.begin(name, 4 * GB)
    queue.wait("d", 4 * GB)
    queue.end("b")
    queue.until(lambda: queue.running() == ["a", "c", "d"])

    assert [p.message for p in queue.told] == [
        "fewer actions run at once than could: there is no memory for more"
    ]
    assert queue.told[0].facts == (
        ("d", "may want 4 GB"),
        ("memory", "16 GB of the machine"),
        ("available", "15 GB"),
    )


def test_what_runs_and_has_its_memory_already_is_not_counted_twice(
    queue: Queue, machine: Machine
) -> None:
    queue.begin("a", 8 * GB)
    machine.available, machine.used[1] = 7 * GB, 8 * GB
    queue.begin("b", 5 * GB)

    assert queue.running() == ["a", "b"]


def test_a_large_one_is_not_overtaken_by_small_ones(queue: Queue) -> None:
    queue.begin("a", 8 * GB)
    queue.wait("large", 12 * GB)
    queue.wait("small", 1)
    waiting = queue.running()
    queue.end("a")
    queue.until(lambda: "large" in queue.running())

    assert waiting == ["a"]
    assert queue.running()[0] == "large"


def test_what_was_stopped_comes_first_again(queue: Queue) -> None:
    queue.begin("a", 13 * GB)
    queue.wait("b", 13 * GB)
    queue.wait("stopped", 13 * GB, stops=1)
    queue.end("a")
    queue.until(lambda: queue.running() == ["stopped"])


def test_what_is_too_large_for_the_machine_runs_alone_with_a_warning(queue: Queue) -> None:
    queue.begin("a", 1)
    queue.wait("huge", 99 * GB)
    queue.end("a")
    queue.until(lambda: queue.running() == ["huge"])
    queue.wait("b", 1)

    assert queue.running() == ["huge"]
    assert queue.told[-1].message == "huge may want more memory than there is; it runs alone"
    assert queue.told[-1].facts[0] == ("may want", "99 GB")


def test_alone_is_alone(queue: Queue) -> None:
    queue.begin("a", 1)
    queue.wait("alone", 1, alone=True)
    queue.end("a")
    queue.until(lambda: queue.running() == ["alone"])
    queue.wait("b", 1)

    assert queue.running() == ["alone"]


def test_the_first_one_starts_even_when_other_programs_have_taken_all(
    queue: Queue, machine: Machine
) -> None:
    machine.available = 0
    queue.begin("a", 4 * GB)

    assert queue.running() == ["a"]


def test_the_limit_of_the_settings_is_for_all_that_run(tmp_path: Path, machine: Machine) -> None:
    queue = limited(tmp_path, machine, 3 * GB)
    queue.begin("a", GB)
    queue.begin("b", GB)
    queue.wait("c", 2 * GB)
    waiting = queue.running()
    machine.used[1] = int(2.5 * GB)  # more than was promised
    queue.end("b")
    queue.end("a")
    queue.until(lambda: queue.running() == ["c"])
    queue.close()

    assert waiting == ["a", "b"]


def test_a_limit_that_is_off_lets_all_in(tmp_path: Path, machine: Machine) -> None:
    queue = limited(tmp_path, machine, None, watches_memory=False)
    machine.available = 0
    for name in "abcd":
        queue.begin(name, 90 * GB)
    running, told = queue.running(), queue.told
    queue.close()

    assert (running, told) == (list("abcd"), [])


def test_a_system_that_tells_nothing_lets_all_in(queue: Queue, machine: Machine) -> None:
    machine.total = machine.available = 0
    queue.begin("a", 90 * GB)
    queue.begin("b", 90 * GB)

    assert (queue.running(), queue.told) == (["a", "b"], [])


def test_a_stop_ends_the_waiting_and_frees_the_place(queue: Queue) -> None:
    queue.begin("a", 15 * GB)
    queue.wait("b", 15 * GB)
    queue.stopped = True
    queue.threads[0].join(10)
    queue.end("a")
    queue.begin("c", 15 * GB)

    assert queue.running() == ["c"]


# --- other builds ------------------------------------------------------------------------------


def test_what_another_build_has_promised_is_not_there(queue: Queue, machine: Machine) -> None:
    other = Neighbours(queue.folder)
    other.say(Told(server=9, promised=12 * GB, running=2, youngest=1.0))
    queue.wait("a", 6 * GB)
    waiting = queue.running()
    machine.used[9] = 8 * GB  # of that it has taken so much, which is no longer available
    machine.available = 11 * GB + floor_of(machine.read()) * 2
    queue.until(lambda: queue.running() == ["a"])

    assert waiting == []


def test_a_large_one_waits_until_other_builds_run_nothing(queue: Queue) -> None:
    other = Neighbours(queue.folder)
    other.say(Told(server=9, promised=GB, running=1, youngest=1.0))
    queue.wait("huge", 99 * GB)
    waiting = queue.running()
    other.say(Told(server=9, promised=0, running=0, youngest=0.0))
    queue.until(lambda: queue.running() == ["huge"])

    assert waiting == []


def test_a_build_tells_what_it_has_promised(queue: Queue) -> None:
    other = Neighbours(queue.folder)
    queue.begin("a", GB)
    queue.begin("b", 2 * GB)
    told = other.others()
    queue.end("a")
    queue.end("b")

    assert told == [Told(server=1, promised=3 * GB, running=2, youngest=2.0)]
    assert other.others() == []


# --- when memory nearly ends -------------------------------------------------------------------


def looks(queue: Queue, count: int = 2) -> None:
    for _ in range(count):
        queue.admission.look()


def test_the_youngest_is_stopped_when_memory_nearly_ends(queue: Queue, machine: Machine) -> None:
    elder, younger = queue.begin("a"), queue.begin("b")
    machine.available = GB // 10
    looks(queue)

    assert (elder.going.was_stopped, younger.going.was_stopped) == (False, True)
    assert [p.message for p in queue.told] == [
        "memory nearly ended: b was stopped and runs again later"
    ]


def test_a_low_that_is_over_stops_nothing(queue: Queue, machine: Machine) -> None:
    queue.begin("a")
    younger = queue.begin("b")
    for available in (0, 15 * GB, 0, 15 * GB):
        machine.available = available
        looks(queue, 1)

    assert not younger.going.was_stopped


def test_no_second_one_is_stopped_before_the_first_gave_back_its_memory(
    queue: Queue, machine: Machine
) -> None:
    turns = [queue.begin(name) for name in "abc"]
    machine.available = 0
    looks(queue, 10)
    before = [turn.going.was_stopped for turn in turns]
    queue.end("c")
    looks(queue, 10)

    assert before == [False, False, True]
    assert [turn.going.was_stopped for turn in turns] == [False, True, True]


def test_it_is_told_without_the_lock_and_whether_somebody_listens_or_not(
    queue: Queue, machine: Machine
) -> None:
    for name in "ab":
        queue.begin(name)
    waits: list[bool] = []

    def gone(_: Problem) -> None:
        other = threading.Thread(target=queue.end, args=("a",), daemon=True)
        other.start()
        other.join(10)
        waits.append(other.is_alive())
        raise BrokenPipeError

    queue.admission.tell = gone
    machine.available = GB // 10
    looks(queue)

    assert waits == [False]


def test_what_is_the_only_one_is_left_to_the_kernel(queue: Queue, machine: Machine) -> None:
    turn = queue.begin("a")
    machine.available = 0
    looks(queue, 10)

    assert not turn.going.was_stopped


def test_of_several_builds_the_one_with_the_youngest_stops_it(
    queue: Queue, machine: Machine
) -> None:
    turn = queue.begin("a")
    other = Neighbours(queue.folder)
    machine.available = 0
    other.say(Told(server=9, promised=GB, running=1, youngest=99.0))
    looks(queue, 10)
    before = turn.going.was_stopped
    other.say(Told(server=9, promised=GB, running=1, youngest=0.5))
    looks(queue)

    assert (before, turn.going.was_stopped) == (False, True)


def test_a_machine_that_swaps_itself_dead_has_no_memory_left(
    queue: Queue, machine: Machine
) -> None:
    queue.begin("a")
    turn = queue.begin("b")
    machine.available = floor_of(machine.read()) * 3
    looks(queue)
    before = turn.going.was_stopped
    machine.stalled = 60.0
    looks(queue)

    assert (before, turn.going.was_stopped) == (False, True)


def test_a_build_that_uses_more_than_its_limit_stops_one(tmp_path: Path, machine: Machine) -> None:
    queue = limited(tmp_path, machine, 3 * GB)
    queue.begin("a")
    turn = queue.begin("b")
    machine.used[1] = 4 * GB
    looks(queue)
    queue.close()

    assert turn.going.was_stopped
