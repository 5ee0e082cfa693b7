"""One name where a command wants exactly one."""

from __future__ import annotations

import shlex

from qnnbuild.actions.plan import Plan
from qnnbuild.errors import NothingMatches


def one_name(plan: Plan, pattern: str) -> str:
    """The only action that `pattern` selects."""
    names = plan.matching(pattern)
    if len(names) > 1:
        shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
        raise NothingMatches(
            f"'{pattern}' selects {len(names)} actions, one is wanted",
            facts=[("they are", shown)],
            hint=f"all of them: qnnbuild plan {shlex.quote(pattern)}",
        )
    return names[0]
