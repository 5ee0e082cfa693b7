"""Which workers can take an action, and what is said when none can."""

from __future__ import annotations

import pytest

from qnnbuild.actions.action import Action
from qnnbuild.cluster.placement import SHARE, Seat, labels, nobody_takes, wants_of

PLAIN = Action(name="context/m@A", step="context", outputs=("o",), tools=("package:onnx", "python"))
SDK = Action(
    name="convert/m",
    step="convert",
    outputs=("o",),
    tools=("qairt:qairt-2.40/converter", "qairt:qairt-2.40/runtime"),
)
LABEL = "toolchain:qairt-2.40"


def seat(name: str, **resources: float) -> Seat:
    named = {key.replace("qairt_2_40", LABEL): value for key, value in resources.items()}
    return Seat(address=f"tcp://{name}:1", name=name, threads=1, resources=named)


def test_only_sdks_have_labels() -> None:
    assert (labels(PLAIN), labels(SDK)) == ([], [LABEL])


@pytest.mark.parametrize(
    ("seats", "wants"),
    [
        ([], {}),
        ([seat("a")], {}),
        ([seat("a", memory=8e9), seat("b")], {"memory": 2e9}),
        ([seat("a", memory=1e9), seat("b", memory=1.5e9)], {"memory": 1.5e9}),
    ],
)
def test_memory_is_asked_for_where_workers_declare_it(
    seats: list[Seat], wants: dict[str, float]
) -> None:
    assert wants_of(PLAIN, 2_000_000_000, seats) == wants


def test_the_largest_worker_is_one_that_has_the_label() -> None:
    seats = [seat("big", memory=64e9), seat("sdk", memory=1e9, qairt_2_40=1)]
    wants = wants_of(SDK, 2_000_000_000, seats)

    assert wants == {LABEL: SHARE, "memory": 1e9}
    assert [s.name for s in seats if s.takes(wants)] == ["sdk"]


def test_a_label_nobody_has_is_told_with_what_there_is() -> None:
    seats = [seat("a", memory=8e9), seat("b")]
    (problem,) = nobody_takes(SDK.name, wants_of(SDK, 1, seats), seats, "tcp://s:8786").problems

    assert problem.message == f"no worker of the cluster has {LABEL}"
    assert problem.facts == (
        ("scheduler", "tcp://s:8786"),
        ("action", "convert/m"),
        ("worker a", "memory=8e+09"),
        ("worker b", "no resources"),
    )
    assert problem.hint == (f'start one that has: dask worker tcp://s:8786 --resources "{LABEL}=1"')


def test_a_cluster_without_workers_is_told_how_to_start_one() -> None:
    (problem,) = nobody_takes(PLAIN.name, {}, [], "tcp://s:8786").problems

    assert problem.message == "the cluster has no workers"
    assert problem.hint == "dask worker tcp://s:8786 --nthreads 1"
