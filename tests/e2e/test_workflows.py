"""The workflows build a repo that `qnnbuild init` made as GitHub runs them, job after job."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.cli import main
from tests.e2e.remote_servers import plain_server
from tests.e2e.small_repo import RAN, REPO, TINY, SmallRepo
from tests.e2e.workflow_machine import CACHE_KEY, KEY, Failed, Machine, workflow
from tests.models import scale_model
from tests.signing import pem_keys

pytestmark = pytest.mark.slow(seconds=40)

ONE_GRAPH = TINY.replace("  wide: {options: {ort: {vtcm_mb: 4}}}\n", "")
NO_EMULATOR = "defaults: {graph: {verify: {chips: none}}}\n"


def starter(root: Path) -> SmallRepo:
    """What `qnnbuild init` makes, with a small model in place of its own."""
    assert main(["init", str(root)]) == 0
    repo = SmallRepo(root, SmallRepo.make(root.parent / "empty").env)
    (root / "recipes/silero-vad.yaml").unlink()
    (root / "qnnbuild.yaml").write_text(NO_EMULATOR)
    repo.model("deep", scale_model(size=32))
    repo.recipe("tiny", ONE_GRAPH)
    return repo


@dataclass
class Built:
    """What all jobs of zoo.yml left behind."""

    repo: SmallRepo
    values: dict[str, str]
    shares: dict[str, tuple[int, list[str], str]]  # share → actions foretold, made, its summary
    whole: Machine
    last: list[str]  # made by the last job
    said: str
    public: Path  # of the key that the repo's secrets have


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Built]:
    top = tmp_path_factory.mktemp("workflows")
    repo = starter(top / "repo")
    (repo.root / "keys").mkdir()
    cache_key, _ = pem_keys(repo.root / "keys", "cache")
    with plain_server() as server:
        server.wants = "Bearer opens"
        values = {
            "vars.QNNBUILD_REMOTE_CACHE": server.url, "secrets.token": "opens",
            "vars.QNNBUILD_REMOTE_CACHE_TRUSTED_KEYS": "keys/cache.pem", CACHE_KEY: cache_key,
        }  # fmt: skip
        plan = Machine(repo, top / "plan", values)
        plan.run("zoo.yml", "plan")
        shares = {}
        for one in [
            s for kind in ("first", "chips") for p in plan.told()[kind] for s in p["include"]
        ]:
            matrix = {f"matrix.{name}": str(value) for name, value in one.items()}
            machine = Machine(repo, top / one["artifact"], {**values, **matrix})
            ran = RAN.findall(machine.run("shares.yml", "share"))
            shares[one["share"]] = (one["actions"], ran, machine.summary.read_text())
        secret, public = pem_keys(top, "ours")
        whole = Machine(repo, top / "whole", {**values, KEY: secret})
        said = whole.run("zoo.yml", "whole")
        yield Built(repo, values, shares, whole, RAN.findall(said), said, public)


def test_the_jobs_of_a_build_make_each_action_once(built):
    made = [name for _, ran, _ in built.shares.values() for name in ran] + built.last
    plan = [row["name"] for row in json.loads(built.repo.qnnbuild("plan", "--json").out)]

    assert sorted(built.shares) == ["chip/SM8550", "chip/SM8750", "first/tiny"]
    assert all(len(ran) == foretold for foretold, ran, _ in built.shares.values())
    assert sorted(made) == sorted(plan)


def test_what_came_of_each_job_stands_below_its_run(built):
    _, _, share = built.shares["chip/SM8750"]
    whole = built.whole.summary.read_text()

    assert share.startswith("made ")
    assert "| `tiny` | `SM8750` | 2 |" in share
    assert "| `tiny` | `SM8550` |  |  | 2 |" in whole
    assert " kB |" in whole


def test_the_bundles_are_signed_with_the_secret_of_the_repo(built):
    folders = [f"build/tiny/{chip}" for chip in ("SM8550", "SM8750")]
    repo = SmallRepo(built.whole.repo.root, built.repo.env)
    done = repo.qnnbuild("verify-bundle", *folders, "--key", str(built.public))

    assert (done.code, done.out.count("signature  good")) == (0, 2), done.err
    assert "PRIVATE" not in built.said


def test_a_second_build_has_no_jobs(built, tmp_path):
    plan = Machine(built.repo, tmp_path / "plan", built.values)
    plan.run("zoo.yml", "plan")

    assert plan.told() == {"first": [], "chips": [], "last": []}


def test_a_share_that_fails_fails_its_job_with_an_annotation(built, tmp_path):
    machine = Machine(built.repo, tmp_path / "one", {**built.values, "matrix.share": "first/tiny"})
    (machine.repo.root / "onnx/deep.onnx").write_bytes(b"no model")
    with pytest.raises(AssertionError, match=r"::error file=recipes/tiny.yaml,line=4,"):
        machine.run("shares.yml", "share")

    assert "### Failed\n\n- `fetch/tiny" in machine.summary.read_text()


def on_github(built: Built, top: Path) -> tuple[dict[str, str], SmallRepo]:
    """Where the stand-in for `gh` keeps issues, comments and runs, and a repo that finds it."""
    (top / "bin").mkdir()
    gh = top / "bin" / "gh"
    fake = REPO / "tests/e2e/fake_gh.py"
    gh.write_text(f'#!/bin/sh\nexec {sys.executable} -S {fake} "$@"\n')
    gh.chmod(0o755)
    (top / "runs").mkdir()
    env = {"GH_ISSUES": str(top / "issues.json"), "GH_RUNS": str(top / "runs")}
    repo = built.repo
    return env, SmallRepo(repo.root, {**repo.env, "PATH": f"{top}/bin:{os.environ['PATH']}"})


# --- the night ------------------------------------------------------------------------------------


class Nights:
    """Runs of the nightly workflow in one repo on a GitHub that keeps issues and artifacts."""

    def __init__(self, built: Built, top: Path) -> None:
        self.top = top
        self.built = built
        self.env, self.empty = on_github(built, top)

    def night(self, name: str, artifact: Path | None, accept: str = "") -> str:
        values = {
            "github.token": "opens", "github.repository": "me/zoo", "github.workflow": "nightly",
            "github.ref_name": "main", "github.server_url": "https://github.com",
            "github.run_id": name, "needs.zoo.result": "success",
            "inputs.fail-on": "cpu,sqnr<-1dB,gone",
            "inputs.accept && '--accept' || ''": accept,
        }  # fmt: skip
        machine = Machine(self.empty, self.top / name, values)
        if artifact is not None:
            shutil.copytree(artifact, machine.repo.root / "tonight")
        said = machine.run("night.yml", "tell", self.env)
        if artifact is not None:  # it went well: what the next night asks for
            shutil.copytree(artifact, self.top / "runs" / name)
        return said

    def bad(self, name: str, artifact: Path | None) -> None:
        with pytest.raises(AssertionError, match="::error::Nightly: "):
            self.night(name, artifact)

    @property
    def issue(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.top / "issues.json").read_text())["issues"][0]
        return found


def test_nights_are_held_against_the_last_good_one(built, tmp_path):
    nights = Nights(built, tmp_path)
    good = built.whole.repo.root / "build"
    less = tmp_path / "less"
    shutil.copytree(good, less)
    index = json.loads((less / "index.json").read_text())
    del index["chips"]["SM8550"]
    (less / "index.json").write_text(json.dumps(index))

    assert "no night was good before" in nights.night("1", good)
    nights.bad("2", less)
    assert nights.issue["title"] == "Nightly: 1 changed for the worse"
    assert "[The run](https://github.com/me/zoo/actions/runs/2)" in nights.issue["body"]
    nights.bad("3", less)  # what got worse stays so until it is mended or taken
    nights.night("4", less, accept="--accept")
    assert nights.issue["state"] == "CLOSED"
    nights.bad("5", None)
    assert (nights.issue["state"], nights.issue["title"]) == ("OPEN", "Nightly: there is no build")


# --- a pull request -------------------------------------------------------------------------------


class Pulls:
    """Runs of changes.yml for one pull request, on the same GitHub."""

    def __init__(self, built: Built, top: Path) -> None:
        self.top = top
        self.env, self.repo = on_github(built, top)

    def pushed(self, artifact: Path | None, fail_on: str = "nothing") -> tuple[str, Machine]:
        """The comment afterwards, and the machine that compared."""
        values = {
            "github.token": "opens", "github.repository": "me/zoo", "github.workflow": "build",
            "github.base_ref": "main", "github.event.pull_request.number": "7",
            "inputs.fail-on": fail_on, "github.server_url": "https://github.com",
            "github.run_id": "3",
        }  # fmt: skip
        number = len(list(self.top.iterdir()))
        compares = Machine(self.repo, self.top / f"{number}", values)
        if artifact is not None:
            shutil.copytree(artifact, compares.repo.root / "this")
        try:
            compares.run("changes.yml", "compare", self.env)
        finally:
            tells = Machine(self.repo, self.top / f"{number}-tells", values)
            shutil.copy(compares.repo.root / "changes.md", tells.repo.root)
            tells.run("changes.yml", "comment", self.env)
        (*others, ours) = json.loads((self.top / "issues.json").read_text())["comments"]
        assert [one["body"] for one in others] == [COPIED]
        return ours["body"], compares


COPIED = "<!-- qnnbuild diff -->\nLook what it said to me."


def test_one_comment_tells_what_a_pull_request_changes(built, tmp_path):
    good, less = built.whole.repo.root / "build", tmp_path / "less"
    shutil.copytree(good, less)
    shutil.rmtree(less / "tiny/SM8550")
    top = tmp_path / "github"
    top.mkdir()
    pulls = Pulls(built, top)
    somebody = {"id": 1, "user": {"login": "somebody"}, "body": COPIED}
    (top / "issues.json").write_text(json.dumps({"asked": [], "comments": [somebody]}))

    assert "There is no build of the base branch to compare with." in pulls.pushed(good)[0]
    shutil.copytree(good, top / "runs/1")
    told, machine = pulls.pushed(less)
    assert "| `SM8550` | – | " in told
    assert "[The run](https://github.com/me/zoo/actions/runs/3) has it as a page" in told
    assert machine.summary.read_text() == told
    assert "<!doctype html>" in (machine.repo.root / "changes.html").read_text()
    with pytest.raises(Failed) as failed:
        pulls.pushed(less, "gone")
    assert failed.value.code == 5
    assert "No change in size, time or accuracy on 2 chips." in pulls.pushed(good)[0]
    assert "made nothing that could be compared" in pulls.pushed(None)[0]
    asked = json.loads((top / "issues.json").read_text())["asked"]
    assert [what for what in asked if what in ("api POST", "api PATCH")] == [
        "api POST", *["api PATCH"] * 4,
    ]  # fmt: skip


def test_what_is_published_is_the_report_and_the_index(built, tmp_path):
    machine = Machine(built.repo, tmp_path / "pages", {})
    shutil.copytree(built.whole.repo.root / "build", machine.repo.root / "tonight")
    machine.run("pages.yml", "publish")
    site = machine.repo.root / "site"

    assert sorted(path.name for path in site.iterdir()) == [
        "index.html", "index.json", "report.html",
    ]  # fmt: skip


def test_what_a_night_keeps_is_there(built):
    steps = workflow("zoo.yml")["jobs"]["whole"]["steps"]
    (kept,) = [s["with"] for s in steps if s.get("with", {}).get("name") == "report"]
    found = [list(built.whole.repo.root.glob(line)) for line in kept["path"].split()]

    assert [len(paths) for paths in found] == [1, 1, 2]


# --- the action ---------------------------------------------------------------------------------


LINUX = {"runner.os": "Linux", "runner.arch": "X64", "github.event_name": "push"}


def test_the_action_builds_a_repo_of_recipes_alone(built, tmp_path):
    """A stranger's repo has recipes and nothing of qnnbuild's; here they are in a folder of it."""
    secret, public = pem_keys(tmp_path, "theirs")
    machine = Machine(built.repo, tmp_path / "machine", LINUX)
    top = machine.repo.root / "npu"
    for name in ("recipes", "onnx", "qnnbuild.yaml"):
        (top / name).parent.mkdir(exist_ok=True)
        shutil.move(machine.repo.root / name, top / name)
    (machine.repo.root / "dodo.py").unlink()
    (machine.repo.root / "doit.cfg").unlink()
    asked = {"folder": "npu", "names": "bundle/*@SM8750\n", "signing-key": secret}
    said = machine.use(asked)
    bundles = [path.parent for path in top.glob("build/tiny/*/manifest.json")]

    assert [path.name for path in bundles] == ["SM8750"]
    assert "| `tiny` | `SM8750` |" in machine.summary.read_text()
    assert re.fullmatch(r"packages=[0-9a-f]{64}\n", machine.outputs.read_text())
    assert "PRIVATE" not in said
    signed = SmallRepo(top, machine.repo.env).qnnbuild(
        "verify-bundle", str(bundles[0]), "--key", str(public)
    )
    assert "signature  good" in signed.out
    assert "reused" in machine.use({"folder": "npu"})  # all of it, on what is there


@pytest.mark.parametrize("event", ["pull_request", "pull_request_target", "workflow_run"])
def test_the_action_neither_signs_nor_shares_what_nobody_has_merged(built, tmp_path, event):
    secret, _ = pem_keys(tmp_path, "theirs")
    machine = Machine(built.repo, tmp_path / "machine", {**LINUX, "github.event_name": event})
    with plain_server() as server:
        server.wants = "Bearer opens"
        machine.use(
            {"remote-cache": server.url, "remote-cache-token": "opens", "signing-key": secret,
             "remote-cache-signing-key": secret, "names": "bundle/*@SM8750"}
        )  # fmt: skip
        methods = {line.partition(" ")[0] for line in server.asked}

    assert methods == {"GET"}
    assert list((machine.repo.root / "build").rglob("manifest.json"))
    assert not list((machine.repo.root / "build").rglob("*.sig*"))


def test_the_action_signs_what_it_shares(built, tmp_path):
    secret, public = pem_keys(tmp_path, "ours")
    asked = {"remote-cache-trusted-keys": str(public), "names": "bundle/*@SM8750"}
    with plain_server() as server:
        there = Machine(built.repo, tmp_path / "there", LINUX)
        there.use({**asked, "remote-cache": server.url, "remote-cache-signing-key": secret})
        here = Machine(
            built.repo, tmp_path / "here", {**LINUX, "github.event_name": "pull_request"}
        )
        said = here.use({**asked, "remote-cache": server.url})

    assert "made" not in said, said
    assert "fetched 5; took" in said
    assert "PRIVATE" not in said


def test_the_action_tells_where_it_cannot_run(built, tmp_path):
    machine = Machine(built.repo, tmp_path / "machine", {**LINUX, "runner.arch": "ARM64"})
    with pytest.raises(Failed, match=r"^::error::.* runs on Linux X64, not on Linux ARM64: use "):
        machine.use({})


def test_the_actions_annotations_name_file_and_line(built, tmp_path):
    machine = Machine(built.repo, tmp_path / "machine", LINUX)
    machine.repo.recipe("tiny", ONE_GRAPH.replace("chips: [SM8550", "chips: [SM1"))
    with pytest.raises(Failed, match=r"::error file=recipes/tiny.yaml,line=\d+,"):
        machine.use({})
