"""What of the store and of build/ came with a repo: what it says is whatever its writer likes."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from qnnbuild.engine.trust import Trust
from qnnbuild.errors import Problem, ToolError

NO_REPO = "not a git repository"


def check_store(trust: Trust, root: Path, store: Path) -> None:
    """Raises NotTrusted when git tracks a file of the store, which only a build should write.

    Without git nobody knows; asked for repos of strangers only.
    """
    if trust.given or not _is_in(root, store):
        return
    found = _tracked(root, store)
    if found:
        shown = os.path.relpath(store, root)
        raise trust.refused(
            f"the store {shown} came with this repo, which is not trusted: git tracks "
            f"{found[0]}; QNNBUILD_STORE can name a folder beside the repo"
        )


def tracked_problems(trust: Trust, root: Path, folders: Mapping[str, Path]) -> Iterator[Problem]:
    """Folders of builds in which git tracks files: errors in a repo that is not trusted.

    `folders`: what they are called → where they are. Where git cannot say, a repo that is trusted
    is left in peace: it may lie in a folder of another user, and nothing depends on the answer.
    """
    inside = {what: folder for what, folder in folders.items() if _is_in(root, folder)}
    for what, folder in inside.items():
        shown = os.path.relpath(folder, root)
        try:
            found = _tracked(root, folder)
        except ToolError as error:
            if not trust.given:
                yield from error.problems
            continue
        if found:
            yield Problem(
                message=f"git tracks {what}, which builds write: {_some(found)}",
                facts=() if trust.given else (("not trusted", trust.why),),
                hint=f"git rm -r --cached {shown}, and a line {shown}/ in .gitignore",
                severity="warning" if trust.given else "error",
            )


def _is_in(root: Path, folder: Path) -> bool:
    return Path(os.path.abspath(folder)).is_relative_to(root)


def _some(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1:,} more"


def _tracked(root: Path, folder: Path) -> list[str]:
    # an index of git's may name a program that looks for changes
    argv = ["git", "-c", "core.fsmonitor=false", "ls-files", "-z", "--", str(folder)]
    try:
        done = subprocess.run(
            argv, cwd=root, env={**os.environ, "LC_ALL": "C"}, stdin=subprocess.DEVNULL,
            capture_output=True, check=False,
        )  # fmt: skip
    except FileNotFoundError:
        return []
    if done.returncode == 0:
        return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
    said = done.stderr.decode(errors="replace").strip()
    if NO_REPO in said:
        return []
    raise ToolError(
        "git does not say whether the store came with this repo",
        facts=[("git says", said)],
        hint="QNNBUILD_STORE names a folder beside the repo",
    )
