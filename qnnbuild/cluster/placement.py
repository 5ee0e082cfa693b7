"""Which workers can take an action: what it asks of them, and what they declare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from qnnbuild.actions.action import Action
from qnnbuild.errors import ToolError

MEMORY = "memory"
LABEL = "toolchain:"
SHARE = 2.0**-10
"""What of a label one action asks for. Dask's resources are amounts that are used up, and a label
is none: a worker that declares 1 of it takes as many such actions as it has threads."""

MOST_SHOWN = 8

Wants = Mapping[str, float]
"""Dask's resource → amount."""


@dataclass(frozen=True, kw_only=True)
class Seat:
    """A worker as the scheduler knows it."""

    address: str
    name: str
    threads: int
    resources: Mapping[str, float] = field(default_factory=dict)

    def takes(self, wants: Wants) -> bool:
        return all(self.resources.get(name, 0.0) >= amount for name, amount in wants.items())

    def __str__(self) -> str:
        return self.name if self.name == self.address else f"{self.name} ({self.address})"


def labels(action: Action) -> list[str]:
    """Of toolchains that not every machine has: Qualcomm's SDKs, by their tools' names."""
    sdks = (tool.removeprefix("qairt:") for tool in action.tools if tool.startswith("qairt:"))
    return sorted({LABEL + sdk.partition("/")[0] for sdk in sdks})


def wants_of(action: Action, peak_bytes: int, seats: Sequence[Seat]) -> dict[str, float]:
    """Labels always; memory where any worker says how much it has.

    An action that is larger than all workers gets the largest for itself, as on one machine.
    """
    wants = dict.fromkeys(labels(action), SHARE)
    rooms = [s.resources[MEMORY] for s in seats if s.takes(wants) and MEMORY in s.resources]
    return {**wants, MEMORY: min(float(peak_bytes), max(rooms))} if rooms else wants


def nobody_takes(name: str, wants: Wants, seats: Sequence[Seat], scheduler: str) -> ToolError:
    """Which label it is that no worker has, and which workers have which."""
    facts = [("scheduler", scheduler), ("action", name)]
    if not seats:
        return ToolError(
            "the cluster has no workers",
            facts=facts,
            hint=f"dask worker {scheduler} --nthreads 1",
        )
    lacking = [one for one in wants if not any(seat.takes({one: wants[one]}) for seat in seats)]
    what = " and ".join(lacking or wants)
    facts += [(f"worker {seat.name}", _told(seat.resources)) for seat in seats[:MOST_SHOWN]]
    if len(seats) > MOST_SHOWN:
        facts.append(("and more", f"{len(seats) - MOST_SHOWN} further workers"))
    resource = f"{lacking[0]}=1" if lacking else " ".join(f"{one}=1" for one in wants)
    return ToolError(
        f"no worker of the cluster has {what}" if lacking else f"no worker has all of {what}",
        facts=facts,
        hint=f'start one that has: dask worker {scheduler} --resources "{resource}"',
    )


def _told(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={amount:g}" for name, amount in resources.items()) or "no resources"


def threads_of(seats: Iterable[Seat]) -> int:
    return sum(seat.threads for seat in seats)
