"""The build of a git revision: what the store and the remote cache have of that revision's plan.

Its recipes are planned here, with the tools of this machine, and looked up; nothing is run, and
code that it brings is not even imported. A build/index.json that the revision keeps is its build.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from qnnbuild.actions.action import Action
from qnnbuild.commands.build_sides import side
from qnnbuild.engine.builder import Builder
from qnnbuild.engine.folder import INDEX
from qnnbuild.engine.places import BUILD
from qnnbuild.engine.revision import commit_of, files_of
from qnnbuild.engine.sharing import tell
from qnnbuild.engine.standings import Standings
from qnnbuild.engine.trust import trust_of
from qnnbuild.errors import NothingMatches, NotTrusted, Problem
from qnnbuild.repo import find_root, settings_of
from qnnbuild.report.diff import Manifest, Side, name_of
from qnnbuild.report.report import report
from qnnbuild.report.told import as_json
from qnnbuild.session import Session, open_builder, open_session
from qnnbuild.work.bundle_files import MANIFEST

MOST_TOLD = 3
SHORT = 12  # digits of a commit


def revision_side(written: str) -> Side:
    """What was built of a revision. Raises NothingMatches where nothing was."""
    here = find_root()
    commit = commit_of(here, written)
    name = f"{written} ({commit[:SHORT]})"
    with files_of(here, commit, trust_of(os.environ)) as root:
        if (root / BUILD / INDEX).is_file():
            return replace(side(root / BUILD / INDEX), name=name)
        session = _session(root, here, name)
        with _looking(session) as builder:
            return _looked_up(session, builder, name)


def _session(root: Path, here: Path, name: str) -> Session:
    """The revision's plan, with the store, the cache and the limits of this checkout."""
    theirs, ours = settings_of(root), settings_of(here)
    if theirs.toolchains:
        raise NotTrusted(
            f"{name} brings toolchains of its own, and no code of a revision is run to look at it",
            facts=[("toolchains", ", ".join(theirs.toolchains))],
            hint="git worktree add beside this folder, build there, and compare the two build/",
        )
    session = open_session(root, bad_left_out=True)
    wrong = [problem for problem in session.problems if problem.severity == "error"]
    if wrong:
        _warn(
            f"{name} has {_several(len(wrong), 'mistake')} in its recipes: they are left out",
            [(str(one.at or "recipes"), one.message) for one in wrong[:MOST_TOLD]],
        )
    settings = replace(ours, sdks=theirs.sdks, toolchains={})
    return replace(session, settings=settings, checkout=here)


@contextmanager
def _looking(session: Session) -> Iterator[Builder]:
    """A builder that leaves no trace of the folder, which is gone soon."""
    shares = session.settings.remote_cache is not None or "QNNBUILD_REMOTE_CACHE" in os.environ
    with open_builder(session, only_look=not shares) as builder:
        try:
            yield builder
        finally:
            builder.records.drop_checkout(builder.records.checkout)


def _looked_up(session: Session, builder: Builder, name: str) -> Side:
    found = Standings(builder, builder.known)  # by record alone: build/ is of what is built now
    bundles = [action for action in session.plan if action.step == "bundle"]
    made = {bundle.name: _manifest(found, bundle) for bundle in bundles}
    unbuilt = tuple(a.name for a in session.plan if found.standing(a.name).kind == "stale")
    manifests = {name_of(one): one for one in made.values() if one is not None}
    if not manifests and not any(found.standing(a.name).failure for a in session.plan):
        raise _nothing(name, unbuilt)
    if unbuilt:
        _warn(
            f"not all of {name} was built: what stands on this is left out",
            [("never built", _listed(unbuilt))],
        )
    return Side(
        name=name,
        manifests=manifests,
        told=as_json(report(session.subject, found)),
        planned=frozenset(name_of(bundle.params) for bundle in bundles),
        unbuilt=unbuilt,
    )


def _manifest(found: Standings, bundle: Action) -> Manifest | None:
    (output,) = bundle.outputs
    manifest: Manifest | None = found.read(bundle.name, output, MANIFEST)
    return manifest


def _nothing(name: str, unbuilt: tuple[str, ...]) -> NothingMatches:
    return NothingMatches(
        f"no bundle of {name} is in the store or a remote cache",
        facts=[
            ("never built", _listed(unbuilt)),
            ("with", "the tools of this machine: what other versions made does not count"),
        ],
        hint="git worktree add beside this folder, build there, and compare the two build/",
    )


def _several(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - MOST_TOLD:,} more" if len(names) > MOST_TOLD else ""
    return ", ".join(names[:MOST_TOLD]) + more


def _warn(message: str, facts: list[tuple[str, str]]) -> None:
    tell(Problem(message=message, facts=tuple(facts), severity="warning"))
