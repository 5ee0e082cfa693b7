"""The examples for Slurm and Kubernetes, as far as they can be checked without one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
import yaml
from distributed.cli import dask_scheduler, dask_worker

from tests.e2e.small_repo import REPO

EXAMPLES = REPO / "docs" / "cluster"


@pytest.fixture(scope="module")
def kubernetes() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((EXAMPLES / "kubernetes.yaml").read_text())
    return found


def test_slurm_starts_a_worker_with_its_resources(tmp_path: Path) -> None:
    spec = importlib.util.spec_from_file_location("slurm", EXAMPLES / "slurm.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with module.slurm(tmp_path) as cluster:
        script = cluster.job_script()
    lines = script.splitlines()
    words = lines[-1].split("distributed.cli.dask_worker ")[1].split()
    told = dask_worker.main.make_context("dask worker", words).params

    assert {"#SBATCH -n 1", "#SBATCH --cpus-per-task=4", "#SBATCH -t 04:00:00"} <= {*lines}
    assert "export QNN_SDK_2_40=/opt/qairt/2.40" in lines
    assert told["nthreads"] == 4
    assert told["resources"] == "memory=16e9,toolchain:qairt-2.40=1"


def test_kubernetes_starts_what_dask_knows(kubernetes: dict[str, Any]) -> None:
    worker, scheduler = _container(kubernetes, "worker"), _container(kubernetes, "scheduler")
    told = dask_worker.main.make_context("dask-worker", ["tcp://s:1", *worker["args"][1:]]).params
    dask_scheduler.main.make_context("dask-scheduler", scheduler["args"][1:])

    assert (worker["args"][0], scheduler["args"][0]) == ("dask-worker", "dask-scheduler")
    assert (told["nthreads"], told["resources"]) == (2, "memory=14e9")


def test_names_of_kubernetes_fit_together(kubernetes: dict[str, Any]) -> None:
    worker, scheduler = _container(kubernetes, "worker"), _container(kubernetes, "scheduler")
    spec = kubernetes["spec"]
    service = spec["scheduler"]["service"]
    volumes = {volume["name"] for volume in spec["worker"]["spec"]["volumes"]}
    variables = {entry["name"]: entry.get("value") for entry in worker["env"]}

    assert (kubernetes["apiVersion"], kubernetes["kind"]) == (
        "kubernetes.dask.org/v1",
        "DaskCluster",
    )
    assert worker["image"] == scheduler["image"]
    assert service["selector"]["dask.org/cluster-name"] == kubernetes["metadata"]["name"]
    assert {p["targetPort"] for p in service["ports"]} == {p["name"] for p in scheduler["ports"]}
    assert {mount["name"] for mount in worker["volumeMounts"]} == volumes
    assert variables["QNNBUILD_STORE"] == worker["volumeMounts"][0]["mountPath"]


def _container(cluster: dict[str, Any], part: str) -> dict[str, Any]:
    (found,) = cluster["spec"][part]["spec"]["containers"]
    return dict(found)
