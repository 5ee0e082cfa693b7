"""What becomes of a run that ended for want of memory: once more and alone, then an error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from qnnbuild.errors import Problem, QnnbuildError
from qnnbuild.text.amounts import told_size

Facts = Iterable[tuple[str, str]]


class Stopped(QnnbuildError):
    """This build stopped the run itself, so that others could go on; it runs again."""


class Short(QnnbuildError):
    """Somebody ended the run, which the kernel does where memory ends. `error` is what it said."""

    def __init__(self, name: str, error: QnnbuildError, peak_bytes: int, kills: int) -> None:
        super().__init__(str(error))
        self.name = name
        self.error = error
        self.peak_bytes = peak_bytes
        self.kills = kills  # what the kernel counts of its own while it ran

    def told(self, there: Facts) -> Problem:
        """That it runs once more."""
        return Problem(
            message=f"{self.name} was ended, as the kernel does where memory ends: "
            "it runs once more, alone",
            facts=(*self._facts(), *there),
            severity="warning",
        )

    def final(self, there: Facts) -> QnnbuildError:
        """What it said, with what there was of memory. It has been alone already."""
        first, *rest = self.error.problems
        better = replace(
            first,
            facts=(*first.facts, *self._facts(), *there),
            hint="it was alone, so no other action can make room for it: end other programs, give "
            "the container more, or build it on a machine with more memory",
        )
        return type(self.error).of([better, *rest])

    def _facts(self) -> Facts:
        yield "it used at most", told_size(self.peak_bytes)
        if self.kills > 0:
            yield "the kernel", f"ended {self.kills} for want of memory meanwhile"
