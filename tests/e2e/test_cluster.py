"""Actions on the workers of a real Dask scheduler: what comes back, and what becomes of losses."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.actions.action import Action, SourceFiles
from qnnbuild.actions.record import Tree
from qnnbuild.cluster import scheduler
from qnnbuild.digest import digest_bytes
from qnnbuild.engine.build_time import Cancelled
from qnnbuild.engine.identity import Identity
from qnnbuild.engine.runner import Made, Stage
from qnnbuild.engine.stats import Stats
from qnnbuild.engine.store import place
from qnnbuild.errors import ToolError
from tests.e2e.dask_cluster import KEY, PLACE, Away, DaskCluster, away, doing, wait_for
from tests.e2e.processes import alive

pytestmark = pytest.mark.slow(seconds=60)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DaskCluster]:
    with DaskCluster.running(tmp_path_factory.mktemp("cluster")) as running:
        running.at_least(2)
        yield running


@pytest.fixture(scope="module")
def build(cluster: DaskCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Away]:
    """One for most tests: a warm server on each worker takes its time."""
    with away(tmp_path_factory.mktemp("here"), cluster.url) as opened:
        yield opened


@pytest.fixture
def here(cluster: DaskCluster, build: Away) -> Away:
    cluster.at_least(2)
    return build


def text_of(here: Away, made: Made) -> str:
    ((digest, _),) = made.outputs["o"].files.values()
    return here.store.path(digest).read_text()


class Running:
    """An action in a thread of its own, as doit has it."""

    def __init__(self, here: Away, action: Action) -> None:
        self.made: Made | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run, args=(here, action))
        self._thread.start()

    def _run(self, here: Away, action: Action) -> None:
        try:
            self.made = here.executor.run(action, KEY, {})
        except Exception as error:  # noqa: BLE001 - the test looks at it
            self.error = error

    def end(self) -> Any:
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self.made or self.error


def pids_in(file: Path) -> list[int]:
    """Of an action and its child, once they are there."""
    wait_for(lambda: file.exists() and len(file.read_text().split()) == 2)
    return [int(pid) for pid in file.read_text().split()]


def test_an_action_takes_a_file_of_the_repo_and_what_it_made_is_in_the_store(
    here: Away,
) -> None:
    tree = Tree(files={"a.txt": (digest_bytes(b"a source"), 8)})
    stage = Stage(tree=tree, fill=lambda to: place(to / "a.txt", b"a source"))
    action = doing("spoils_its_input", inputs={"i": SourceFiles(patterns=("a.txt",))})
    made = here.executor.run(action, KEY, {"i": stage})

    assert text_of(here, made) == "spoiled"


def test_the_cluster_says_how_many_actions_run_at_once(here: Away) -> None:
    assert here.executor.ready() == 2


def test_a_mistake_of_the_user_is_told_at_its_place_with_the_worker(
    here: Away, cluster: DaskCluster
) -> None:
    with pytest.raises(ToolError) as caught:
        here.executor.run(doing("says_what_is_wrong"), KEY, {})

    (problem,) = caught.value.problems
    assert (problem.message, problem.at) == ("input 'x' has rank 3", PLACE)
    assert problem.hint == "write four"
    assert dict(problem.facts)["worker"] in cluster.workers


def test_the_log_of_a_failure_comes_back(here: Away) -> None:
    with pytest.raises(ToolError, match="failed with exit code 70") as caught:
        here.executor.run(doing("raises"), KEY, {})

    facts = dict(caught.value.problems[0].facts)
    assert facts["last lines"].splitlines()[0] == "about to fail"
    assert "about to fail" in Path(facts["log"]).read_text()


def test_the_work_of_a_worker_that_is_killed_is_done_by_another(
    here: Away, cluster: DaskCluster, tmp_path: Path
) -> None:
    action = doing("hangs_the_first_time", params={"pids": str(tmp_path / "pids")})
    running = Running(here, action)
    pids = pids_in(tmp_path / "pids")
    cluster.kill(cluster.worker_of(pids[0]))
    made = running.end()

    assert isinstance(made, Made)
    assert text_of(here, made) == "well"
    assert [alive(pid) for pid in pids] == [False, False]


def test_when_each_worker_is_lost_the_error_names_them(
    here: Away, cluster: DaskCluster, tmp_path: Path
) -> None:
    file = tmp_path / "pids"
    running = Running(here, doing("hangs_with_a_child", params={"pids": str(file)}))
    lost = []
    for _ in range(2):
        lost.append(cluster.worker_of(pids_in(file)[0]))
        file.unlink()
        cluster.kill(lost[-1])
    error = running.end()

    assert isinstance(error, ToolError)
    (problem,) = error.problems
    assert problem.message == "each of the 2 workers that had context/m/g@SM8750 was lost"
    named = [text.partition(" at ")[0] for name, text in problem.facts if name != "scheduler"]
    assert named == lost


def test_a_stop_ends_what_runs_on_a_worker(cluster: DaskCluster, tmp_path: Path) -> None:
    cluster.at_least(1)
    hangs = doing("hangs_with_a_child", params={"pids": str(tmp_path / "pids")})
    with away(tmp_path / "here", cluster.url) as here:
        running = Running(here, hangs)
        pids = pids_in(tmp_path / "pids")
        here.executor.cancel()

        assert isinstance(running.end(), Cancelled)
        wait_for(lambda: not any(alive(pid) for pid in pids))


class Newer(Identity):
    """The build's machine has another version of a tool."""

    def of(self, action: Action) -> Mapping[str, str]:
        return {**super().of(action), "package:onnx": "99.0 sha256:beef"}


def test_a_tool_of_another_version_is_an_error_that_names_both(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.at_least(1)
    with (
        away(tmp_path / "here", cluster.url, identity=Newer(Stats())) as here,
        pytest.raises(ToolError) as caught,
    ):
        here.executor.run(doing("well", tools=("package:onnx",)), KEY, {})

    (problem,) = caught.value.problems
    assert problem.message == "a worker has another onnx than the build"
    assert problem.facts[0] == ("the build has", "99.0 sha256:beef")
    assert problem.facts[1][1] == Identity(Stats()).measure("package:onnx")


class Edited(Identity):
    """The build's machine has other code of ours."""

    def measure(self, name: str) -> str:
        return "sha256:beef" if name.startswith("code:qnnbuild.cluster") else super().measure(name)


def test_other_code_on_a_worker_is_an_error_before_anything_is_run(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.at_least(1)
    with (
        away(tmp_path / "here", cluster.url, identity=Edited(Stats())) as here,
        pytest.raises(ToolError, match="workers have other code of qnnbuild than the build"),
    ):
        here.executor.ready()


LABELLED = {"toolchain:qairt-2.40": 1.0}


def test_a_label_that_no_worker_has_is_told_with_what_they_have(
    cluster: DaskCluster, tmp_path: Path
) -> None:
    cluster.at_least(1)

    class Sdk(Identity):
        def of(self, _: Action) -> Mapping[str, str]:
            return {}

    action = doing("well", tools=("qairt:qairt-2.40/converter",))
    with (
        away(tmp_path / "here", cluster.url, wait_s=0, identity=Sdk(Stats())) as here,
        pytest.raises(ToolError) as caught,
    ):
        here.executor.run(action, KEY, {})

    (problem,) = caught.value.problems
    assert problem.message == "no worker of the cluster has toolchain:qairt-2.40"
    assert set(problem.facts[2:]) == {
        (f"worker {name}", "no resources") for name in cluster.workers
    }
    assert problem.hint is not None
    assert problem.hint.endswith('--resources "toolchain:qairt-2.40=1"')


def test_a_scheduler_that_is_not_there_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "CONNECT_S", 0.5)
    with away(tmp_path / "here", "dask://127.0.0.1:9") as here, pytest.raises(ToolError) as caught:
        here.executor.ready()

    (problem,) = caught.value.problems
    assert problem.message == "no scheduler answers at dask://127.0.0.1:9"
    assert problem.hint is not None
    assert problem.hint.startswith("start it: dask scheduler --port 9")
