"""A git revision as a folder of files, as a checkout would have them; nothing of it is run.

No hook runs, git's own index and worktrees stay as they are, and where the repo is not trusted no
filter of its configuration runs either.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from qnnbuild.engine.trust import Trust
from qnnbuild.errors import NothingMatches, ToolError, did_you_mean

QUIET = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"),
    *("-c", "core.sparseCheckout=false"),
)
"""A configuration of git's may name programs, and leave files out."""

LAST_LINES = 5


def commit_of(root: Path, written: str) -> str:
    """The commit that is meant by a branch, a tag, HEAD^1, … Raises NothingMatches."""
    if not written.startswith("-"):  # that would be an option
        said = _git(root, "rev-parse", "--verify", "--quiet", f"{written}^{{commit}}", fails=True)
        if said:
            return said.strip()
    shallow = _git(root, "rev-parse", "--is-shallow-repository", fails=True).strip() == "true"
    names = _git(root, "for-each-ref", "--format=%(refname:short)", fails=True).splitlines()
    otherwise = "a build folder, its index.json, a manifest.json, or what `git log` takes"
    if shallow:
        otherwise = "this clone is shallow: git fetch --unshallow"
    raise NothingMatches(
        f"no such file or folder, and no revision of git: {written}",
        hint=did_you_mean(written, names) or otherwise,
    )


@contextmanager
def files_of(root: Path, commit: str, trust: Trust) -> Iterator[Path]:
    """What lies below `root`, a folder in a git repo, at `commit`; gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="qnnbuild-revision-") as folder:
        top = Path(folder).resolve()
        below = _git(root, "rev-parse", "--show-prefix").removesuffix("\n")
        env = {"GIT_INDEX_FILE": str(top / "index"), **_unfiltered(root, trust)}
        _git(root, "read-tree", commit, env=env)
        _git(root, "checkout-index", "--all", f"--prefix={top}/files/", env=env)
        found = top / "files" / below
        if not found.is_dir():
            raise NothingMatches(
                f"{below or '.'} is not there at {commit[:12]}",
                hint="a revision in which this folder is a repo of recipes",
            )
        yield found


def _unfiltered(root: Path, trust: Trust) -> Mapping[str, str]:
    """Variables by which git runs no filter that its configuration names."""
    if trust.given:
        return {}
    said = _git(root, "config", "--null", "--name-only", "--get-regexp", r"^filter\.", fails=True)
    names = [name for name in said.split("\0") if name]
    told = {"GIT_NO_LAZY_FETCH": "1", "GIT_CONFIG_COUNT": str(len(names))}
    for number, name in enumerate(names):
        told[f"GIT_CONFIG_KEY_{number}"] = name
        told[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
    return told


def _git(root: Path, *words: str, env: Mapping[str, str] | None = None, fails: bool = False) -> str:
    """What git says; with `fails` nothing where it fails. Raises ToolError."""
    try:
        done = subprocess.run(
            ["git", *QUIET, *words], cwd=root, stdin=subprocess.DEVNULL, capture_output=True,
            env={**os.environ, "LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", **(env or {})},
            check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise ToolError(
            "git is not installed here", hint="install it, or compare two build folders"
        ) from None
    said = done.stderr.decode(errors="replace").strip().splitlines()
    if done.returncode and not fails:
        raise ToolError(
            f"git {words[0]} ended with {done.returncode}",
            facts=[("says", "\n".join(said[-LAST_LINES:]))],
        )
    return "" if done.returncode else os.fsdecode(done.stdout)
