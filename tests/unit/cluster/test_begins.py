"""Workers tell when an action begins, and each build hears of its own."""

from __future__ import annotations

from typing import Any

from qnnbuild.cluster.begins import TOPIC, Begins, Teller


class Worker:
    """Dask's, as far as it tells."""

    name = 7

    def __init__(self) -> None:
        self.told: list[tuple[str, Any]] = []

    def log_event(self, topic: str, message: Any) -> None:
        self.told.append((topic, message))


def test_a_build_hears_on_which_worker_its_action_has_begun() -> None:
    worker = Worker()
    begins = Begins("b1")
    for build in ("b1", "b2"):
        teller = Teller(worker, build)  # type: ignore[arg-type]
        teller.waits(f"context/{build}", "memory")
        teller.runs(f"context/{build}")
    for topic, message in worker.told:
        assert topic == TOPIC
        begins.hear((0.0, message))

    begins.hear((0.0, {**worker.told[0][1], "worker": "tcp://a:1"}))

    assert begins.name_of("tcp://a:1") == "7"
    assert begins.name_of("tcp://b:1") is None
    assert begins.take("context/b1") == "7"
    assert begins.take("context/b1") is None
    assert begins.take("context/b2") is None
