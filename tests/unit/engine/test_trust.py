"""Who is trusted, by what the environment says, and what a repo of strangers may not do."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.trust import TRUSTED, Trust, check_folders, import_path, trust_of
from qnnbuild.errors import NotTrusted, RecipeError

STRANGER = Trust(given=False, why="a test says so")


def pull(head: Any, base: str = "us/zoo") -> dict[str, Any]:
    return {"pull_request": {"head": {"repo": head}, "base": {"repo": {"full_name": base}}}}


def on_github(tmp_path: Path, event: str, told: object) -> dict[str, str]:
    file = tmp_path / "event.json"
    file.write_text(told if isinstance(told, str) else json.dumps(told))
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": event, "GITHUB_EVENT_PATH": str(file)}


def test_a_repo_on_a_laptop_is_trusted():
    assert trust_of({}).given


@pytest.mark.parametrize(("said", "given"), [("yes", True), ("no", False), (" NO ", False)])
def test_the_environment_says_it(said: str, given: bool):
    assert trust_of({"QNNBUILD_TRUST": said}).given is given


def test_a_word_that_means_nothing_is_refused():
    with pytest.raises(RecipeError) as caught:
        trust_of({"QNNBUILD_TRUST": "perhaps"})

    assert caught.value.problems[0].hint == "it is yes or no"


@pytest.mark.parametrize("event", ["push", "schedule", "workflow_dispatch", "merge_group"])
def test_a_workflow_of_the_repo_itself_is_trusted(tmp_path, event):
    assert trust_of(on_github(tmp_path, event, {})).given


FORK = {"full_name": "they/zoo"}
OWN = {"full_name": "us/zoo"}


@pytest.mark.parametrize(
    ("event", "told", "why"),
    [
        ("pull_request", pull(FORK), "a pull request of the fork they/zoo"),
        ("pull_request_target", pull(FORK), "a pull request of the fork they/zoo"),
        ("pull_request", pull(None), "a pull request of a repo that is gone"),
        (
            "workflow_run",
            {"workflow_run": {"head_repository": FORK}, "repository": OWN},
            "a pull request of the fork they/zoo",
        ),
        ("issue_comment", {"issue": {"pull_request": {}}}, "a comment on a pull request"),
        (
            "pull_request",
            "[" * 100_000,
            "an event pull_request that does not say whose work it is about",
        ),
        ("pull_request", {}, "an event pull_request that does not say whose work it is about"),
    ],
)
def test_what_may_be_the_work_of_others_is_not(tmp_path, event, told, why):
    trust = trust_of(on_github(tmp_path, event, told))

    assert (trust.given, trust.why) == (False, why)


def test_an_event_that_cannot_be_read_is_not():
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_NAME": "pull_request"}

    assert not trust_of(environment).given


@pytest.mark.parametrize(
    ("event", "told"),
    [
        ("pull_request", pull(OWN)),
        ("workflow_run", {"workflow_run": {"head_repository": OWN}, "repository": OWN}),
        ("issue_comment", {"issue": {}}),
    ],
)
def test_a_pull_request_of_the_repo_itself_is_trusted(tmp_path, event, told):
    assert trust_of(on_github(tmp_path, event, told)).given


def test_who_starts_a_build_may_trust_a_fork(tmp_path):
    environment = on_github(tmp_path, "pull_request", pull(FORK)) | {"QNNBUILD_TRUST": "yes"}

    assert trust_of(environment).given


@pytest.mark.parametrize(("target", "given"), [("7", True), ("8", False)])
def test_a_merge_request_of_gitlab(target: str, given: bool):
    source = {"CI_MERGE_REQUEST_SOURCE_PROJECT_ID": "7"}

    assert trust_of(source | {"CI_MERGE_REQUEST_PROJECT_ID": target}).given is given


def repo_with(tmp_path: Path, link: str) -> Path:
    """A repo in which `link` leads out of it."""
    root, outside = tmp_path / "repo", tmp_path / "outside"
    outside.mkdir()
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside)
    return root


@pytest.mark.parametrize("link", ["build", "build/m/SM8750", ".qnnbuild", ".qnnbuild/logs"])
def test_no_folder_that_is_written_to_leads_out(tmp_path, link):
    root = repo_with(tmp_path, link)
    folders = {"build": root / "build", "the store": root / ".qnnbuild"}

    with pytest.raises(NotTrusted, match="lies outside of this repo, which is not trusted"):
        check_folders(STRANGER, root, folders)
    check_folders(TRUSTED, root, folders)


def test_links_of_environments_and_a_store_beside_the_repo_may(tmp_path):
    root = repo_with(tmp_path, ".qnnbuild/envs/a/bin")
    (tmp_path / "outside" / "link").symlink_to("/")
    folders = {"own": root / ".qnnbuild", "the store": tmp_path / "outside"}

    assert check_folders(STRANGER, root, folders) is None  # type: ignore[func-returns-value]


def test_actions_import_nothing_of_a_repo_that_brings_no_toolchain(tmp_path):
    path = [*sys.path, str(tmp_path)]

    assert str(tmp_path) == import_path(TRUSTED, tmp_path, sys.path, brings=True)[0]
    assert str(tmp_path) not in import_path(TRUSTED, tmp_path, sys.path, brings=False)
    assert str(tmp_path) not in import_path(STRANGER, tmp_path, path, brings=True)


def test_what_qnnbuild_is_imported_from_stays(tmp_path):
    ours = str(Path(__file__).parents[3])

    assert ours in import_path(STRANGER, Path(ours), [ours], brings=False)
