"""Issues of one label on GitHub, by its own command line `gh`, which knows repo and token."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

from qnnbuild.errors import ToolError

DEADLINE_S = 120
MOST = 200  # issues that may carry the label
LAST_LINES = 5


@dataclass(frozen=True, kw_only=True)
class Issue:
    number: int
    body: str
    is_open: bool


class Issues:
    """Raises ToolError where `gh` is missing or refuses."""

    def __init__(self, label: str) -> None:
        self.label = label

    def all(self) -> list[Issue]:
        """Open and closed ones, the oldest first."""
        said = _gh(
            "issue", "list", "--label", self.label, "--state", "all", "--limit", str(MOST),
            "--json", "number,state,body",
        )  # fmt: skip
        found: list[dict[str, Any]] = json.loads(said)
        issues = (
            # GitHub may give back the line ends of its web page
            Issue(number=one["number"], body=one["body"].replace("\r\n", "\n"),
                  is_open=one["state"] == "OPEN")
            for one in found
        )  # fmt: skip
        return sorted(issues, key=lambda issue: issue.number)

    def make(self, title: str, body: str) -> None:
        about = "what a nightly build found"
        _gh("label", "create", self.label, "--force", "--description", about)
        _gh(
            "issue", "create", "--title", title, "--label", self.label, "--body-file", "-", say=body
        )

    def edit(self, issue: Issue, title: str, body: str) -> None:
        _gh("issue", "edit", str(issue.number), "--title", title, "--body-file", "-", say=body)

    def reopen(self, issue: Issue) -> None:
        _gh("issue", "reopen", str(issue.number))

    def close(self, issue: Issue, comment: str) -> None:
        _gh("issue", "close", str(issue.number), "--comment", comment)


def _gh(*words: str, say: str = "") -> str:
    shown = " ".join(("gh", *words[:2]))
    try:
        done = subprocess.run(
            ["gh", *words], input=say, text=True, encoding="utf-8", capture_output=True,
            check=False, timeout=DEADLINE_S,
        )  # fmt: skip
    except FileNotFoundError:
        raise ToolError(
            "gh is not installed here", hint="install GitHub's command line, or leave out --issue"
        ) from None
    except subprocess.TimeoutExpired:
        raise ToolError(f"{shown} took more than {DEADLINE_S} s") from None
    if done.returncode:
        said = "\n".join(done.stderr.strip().splitlines()[-LAST_LINES:])
        raise ToolError(
            f"{shown} ended with {done.returncode}", facts=[("says", said)],
            hint="gh needs GH_TOKEN with `issues: write`, and GH_REPO outside of a checkout",
        )  # fmt: skip
    return done.stdout
