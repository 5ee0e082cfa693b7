"""Real doit with an executor: the same bytes, over a store or a cache, and what a stop leaves."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.dask_cluster import BLIND, DaskCluster, wait_for
from tests.e2e.processes import alive
from tests.e2e.remote_servers import plain_server
from tests.e2e.small_repo import BIN, QUIET, SmallRepo
from tests.events import events_in
from tests.models import scale_model

pytestmark = pytest.mark.slow(seconds=70)

EXECUTOR = "QNNBUILD_EXECUTOR"
URL, MODE = "QNNBUILD_REMOTE_CACHE", "QNNBUILD_REMOTE_CACHE_MODE"
SLOW = """\
model: slow
license: Apache-2.0
source:
  export:
    run: [sh, -c, "echo $$ > {file}; sleep 600"]
    needs: []
    makes: m.onnx
chips: [SM8750]
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with DaskCluster.running(tmp_path_factory.mktemp("cluster")) as running:
        running.at_least(2)
        yield running


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """What this machine makes alone."""
    repo = SmallRepo.make(tmp_path_factory.mktemp("local") / "repo")
    repo.model("small", scale_model(size=64))
    repo.recipe("quiet", QUIET)
    done = repo.doit()
    assert (done.code, done.err, done.summary) == (0, "", "made 5")
    return repo


def test_a_cluster_makes_the_same_bytes(
    local: SmallRepo, cluster: DaskCluster, tmp_path: Path
) -> None:
    repo = local.copy(tmp_path / "repo", **{EXECUTOR: cluster.url})
    done = repo.doit("--json-events", "events")
    runs = [e for e in events_in(repo.root / "events") if e["event"] == "action-runs"]

    assert (done.code, done.err, done.summary) == (0, "", "made 5")
    assert len(runs) == 5
    assert all(event["where"] for event in runs)
    assert repo.files() == local.files()
    assert repo.left_in_store() == []


def test_a_build_of_nothing_asks_no_scheduler(local: SmallRepo) -> None:
    (local.root / "recipes" / "quiet.yaml").touch()
    done = local.doit(env={EXECUTOR: "dask://127.0.0.1:9"})

    assert (done.code, done.err) == (0, "")
    assert done.summary == "nothing to do: reused 5"


def test_without_a_common_store_all_goes_by_digest_over_the_remote_cache(
    local: SmallRepo, cluster: DaskCluster, tmp_path: Path
) -> None:
    name = cluster.start("--preload", BLIND)
    cluster.at_least(3)
    with plain_server() as server:
        cache = {URL: server.url, MODE: "read-write"}
        repo = local.copy(tmp_path / "repo", **{EXECUTOR: cluster.url}, **cache)
        done = repo.doit()
        (again := local.copy(tmp_path / "again", **cache)).doit()
    cluster.kill(name)

    assert (done.code, done.err, done.summary) == (0, "", "made 5")
    assert repo.files() == again.files() == local.files()
    assert len(list((repo.root / ".qnnbuild" / "logs").rglob("*.log"))) == 5


def test_without_store_or_cache_nothing_is_run(
    local: SmallRepo, cluster: DaskCluster, tmp_path: Path
) -> None:
    name = cluster.start("--preload", BLIND)
    cluster.at_least(3)
    repo = local.copy(tmp_path / "repo", **{EXECUTOR: cluster.url})
    done = repo.doit()
    cluster.kill(name)

    assert (done.code, done.ran) == (4, [])
    first, *facts = done.err.splitlines()
    assert first == "error: files cannot travel between this machine and the workers"
    assert facts[1].split()[:2] == ["worker:", name]
    assert facts[-1].startswith("  hint: let all machines see the store's folder (QNNBUILD_STORE)")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_what_runs_on_a_worker_ends_with_its_build(
    local: SmallRepo, cluster: DaskCluster, tmp_path: Path, number: signal.Signals
) -> None:
    cluster.at_least(1)
    repo = local.copy(tmp_path / "repo", **{EXECUTOR: cluster.url})
    file = tmp_path / "pid"
    repo.recipe("slow", SLOW.format(file=file))
    doit = subprocess.Popen(
        [str(BIN / "doit"), "slow"], cwd=repo.root, env=repo.env, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_for(lambda: file.exists() and file.read_text().strip())
    doit.send_signal(number)
    _, err = doit.communicate(timeout=60)

    wait_for(lambda: not alive(int(file.read_text())))
    assert (doit.returncode, err) == (130 if number == signal.SIGINT else -signal.SIGKILL, "")


def test_an_address_that_nobody_answers_is_told_at_its_place(
    local: SmallRepo, tmp_path: Path
) -> None:
    repo = local.copy(tmp_path / "repo")
    (repo.root / "qnnbuild.yaml").write_text("executor: dask:///nowhere/scheduler.json\n")
    done = repo.doit()

    assert (done.code, done.ran) == (4, [])
    assert (
        done.err
        == """\
qnnbuild.yaml:1:1: error: no scheduler answers at dask:///nowhere/scheduler.json
    1 | executor: dask:///nowhere/scheduler.json
      | ^^^^^^^^
  why: No such file or directory
  hint: start it: dask scheduler --scheduler-file /nowhere/scheduler.json; without `executor:` \
actions run on this machine
"""
    )


def test_this_machine_does_the_work_where_the_settings_say_so(
    local: SmallRepo, tmp_path: Path
) -> None:
    repo = local.copy(tmp_path / "repo")
    settings = 'executor: {url: "dask:///nowhere/scheduler.json", fallback: local}\n'
    (repo.root / "qnnbuild.yaml").write_text(settings)
    done = repo.doit("fetch/quiet")

    assert (done.code, done.ran) == (0, ["fetch/quiet"])
    assert "warning: no scheduler answers at dask:///nowhere/scheduler.json" in done.err


def test_the_doctor_tells_of_the_cluster(local: SmallRepo, cluster: DaskCluster) -> None:
    cluster.at_least(2)
    done = local.qnnbuild("doctor", "--json", env={EXECUTOR: cluster.url})
    rows = {row["what"]: row for row in json.loads(done.out)}

    assert rows["executor"]["found"].startswith(f"{cluster.url}: 2 workers, 2 threads, Dask ")
    assert rows["executor's files"]["found"] == f"all workers see {local.root / '.qnnbuild'}"
