"""The table below a step of a GitHub workflow; nothing here is imported anywhere else."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from qnnbuild.engine.folder import REPORT
from qnnbuild.engine.places import BUILD
from qnnbuild.engine.report_file import told_by
from qnnbuild.errors import Problem
from qnnbuild.report.step_summary import Came, step_summary
from qnnbuild.text.render import terminal

if TYPE_CHECKING:
    from qnnbuild.bridge.tasks import Build


def tell_github(build: Build | None, how: Mapping[str, str], line: str, root: Path) -> None:
    """Append what came of a build to the file that GITHUB_STEP_SUMMARY names.

    `how` is action → what Outcome says, failed or not built. A build is no worse for a summary
    that cannot be written: that is said, and no more.
    """
    path = os.environ["GITHUB_STEP_SUMMARY"]
    came = [_came(build, name, one) for name, one in how.items()] if build is not None else []
    try:
        with Path(path).open("a", encoding="utf-8") as file:
            file.write(step_summary(came, line, told_by(root / BUILD / REPORT)) + "\n")
    except OSError as error:
        problem = Problem(
            message=f"the summary of this step cannot be written: {error.strerror or error}",
            facts=(("file", path),),
            severity="warning",
        )
        sys.stderr.write(terminal([problem]))


def _came(build: Build, name: str, how: str) -> Came:
    model = build.session.plan[name].group
    if name in build.outcomes:
        return Came(name=name, model=model, how=how, seconds=build.outcomes[name].seconds)
    if name in build.failures:
        problem = build.failures[name].problems[0]
        at = str(problem.at) if problem.at else ""
        return Came(name=name, model=model, how=how, at=at, said=problem.message)
    return Came(name=name, model=model, how=how)
