"""Whether code of the repo may run, and what else a repo of strangers may not do.

Who starts a build decides, by `--trust`, `--no-trust` or QNNBUILD_TRUST: a repo's own files cannot,
since a hostile pull request changes those as well. Where nobody says anything, a repo is trusted,
but not what a pull request brings from a fork.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qnnbuild.errors import NotTrusted, RecipeError, Span

TRUST = "QNNBUILD_TRUST"
YES, NO = "yes", "no"
HINT = f"read its code first, then: doit --trust, or {TRUST}={YES}"

ENVS = "envs"
"""The store's folder of environments, whose links are venv's own; only code of the repo uses it."""

PULLS = frozenset(
    (
        *("pull_request", "pull_request_target", "pull_request_review"),
        *("pull_request_review_comment", "workflow_run", "issue_comment"),
    )
)
"""Events of GitHub in which a workflow may have checked out what somebody else wrote."""


@dataclass(frozen=True, kw_only=True)
class Trust:
    given: bool
    why: str = ""

    def refused(self, message: str, at: Span | None = None, **facts: str) -> NotTrusted:
        return NotTrusted(
            message, at=at, facts=[*facts.items(), ("not trusted", self.why)], hint=HINT
        )

    def check_inside(self, path: Path, root: Path, shown: str, at: Span | None = None) -> None:
        """A repo of strangers neither reads nor writes beside itself."""
        if not self.given and not path.resolve().is_relative_to(root.resolve()):
            raise self.refused(
                f"{shown} lies outside of this repo, which is not trusted",
                at,
                **{"it is": str(path.resolve())},
            )


TRUSTED = Trust(given=True)


def trust_of(environment: Mapping[str, str]) -> Trust:
    """Raises RecipeError when QNNBUILD_TRUST is neither yes nor no."""
    said = environment.get(TRUST, "").strip().lower()
    if said not in ("", YES, NO):
        raise RecipeError(f"{TRUST} is '{said}'", hint=f"it is {YES} or {NO}")
    if said:
        return Trust(given=said == YES, why=f"--no-trust or {TRUST}={NO} says so")
    why = _of_github(environment) or _of_gitlab(environment)
    return Trust(given=why is None, why=why or "")


def _of_github(environment: Mapping[str, str]) -> str | None:
    """Whose work a workflow has, where it may be another's than the repo's own."""
    event = environment.get("GITHUB_EVENT_NAME", "")
    if environment.get("GITHUB_ACTIONS") != "true" or event not in PULLS:
        return None
    try:
        told = json.loads(Path(environment["GITHUB_EVENT_PATH"]).read_bytes())
        return _fork(event, told)
    except (KeyError, OSError, ValueError, TypeError, AttributeError, RecursionError):
        return f"an event {event} that does not say whose work it is about"


def _fork(event: str, told: Mapping[str, Any]) -> str | None:
    if event == "issue_comment":
        # which commit a workflow takes then is in no event
        return "a comment on a pull request" if "pull_request" in told["issue"] else None
    if event == "workflow_run":
        head, base = told["workflow_run"]["head_repository"], told["repository"]
    else:
        pull = told["pull_request"]
        head, base = pull["head"]["repo"], pull["base"]["repo"]
    if head is None:
        return "a pull request of a repo that is gone"
    if head["full_name"] == base["full_name"]:
        return None
    return f"a pull request of the fork {head['full_name']}"


def _of_gitlab(environment: Mapping[str, str]) -> str | None:
    source = environment.get("CI_MERGE_REQUEST_SOURCE_PROJECT_ID")
    if source is None or source == environment.get("CI_MERGE_REQUEST_PROJECT_ID"):
        return None
    return "a merge request of the fork " + environment.get(
        "CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", source
    )


def check_folders(trust: Trust, root: Path, folders: Mapping[str, Path]) -> None:
    """No folder of a repo of strangers that a build writes to may lead out of it by a link.

    `folders`: what they are called → where they are; those beside the repo are the machine's.
    Costs a walk, for repos of strangers only.
    """
    for shown, folder in folders.items():
        if trust.given or not Path(os.path.abspath(folder)).is_relative_to(root):
            continue
        trust.check_inside(folder, root, shown)
        for top, inner, files in os.walk(folder):
            for name in (*inner, *files):
                path = Path(top, name)
                if path.is_symlink():
                    trust.check_inside(path, root, f"{shown}/{path.relative_to(folder)}")
            inner[:] = [name for name in inner if name != ENVS]


def import_path(trust: Trust, root: Path, path: list[str], *, brings: bool) -> list[str]:
    """Where actions import from. The repo's own modules are for the toolchains that it brings:
    else a file numpy.py in it would run in the place of numpy.
    """
    found = [str(Path(entry).absolute()) for entry in path]
    if trust.given:
        return [str(root), *found] if brings else found
    ours = Path(__file__).resolve().parents[2]
    inside = [p for p in found if Path(p).resolve().is_relative_to(root.resolve())]
    return [p for p in found if p not in inside or _holds(Path(p).resolve(), ours)]


def _holds(entry: Path, ours: Path) -> bool:
    """Whether it is what qnnbuild itself, or a package beside it, is imported from."""
    return entry == ours or "site-packages" in entry.parts
