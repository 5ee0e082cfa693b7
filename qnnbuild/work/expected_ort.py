"""expected: what is known to fail is tried, and has to fail still."""

from __future__ import annotations

from qnnbuild.work.context_ort import context
from qnnbuild.work.known_failure import Works, expect_failure
from qnnbuild.work.metric import metric
from qnnbuild.work.run import Run
from qnnbuild.work.verdict import verdict
from qnnbuild.work.verify_ort import verify


def expected(run: Run) -> None:
    """Inputs of context, verify and metric (their code as "code-NAME") → output "failure"."""
    works = Works(context=context, verify=verify, metric=metric, verdict=verdict)
    expect_failure(run, works, name=run.params["context"]["graph"])
