"""A Dask cluster in Slurm for qnnbuild: `python slurm.py /shared/qnnbuild`, until Ctrl-C.

The folder is one that the machine which builds and all nodes see. The scheduler's address lands in
it, so that a build finds it:

    export QNNBUILD_STORE=/shared/qnnbuild/store
    export QNNBUILD_EXECUTOR=dask:///shared/qnnbuild/scheduler.json
    doit
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

from dask_jobqueue import SLURMCluster

CORES = 4
MEMORY_GB = 16
MOST = 20  # workers that Slurm may start while there is work; none when there is none


def slurm(folder: Path) -> SLURMCluster:
    """One worker for each allocation; it says what it has by Dask's resources."""
    resources = f"memory={MEMORY_GB}e9,toolchain:qairt-2.40=1"  # the label: where the SDK is
    return SLURMCluster(
        cores=CORES,  # so many actions at once
        processes=1,
        memory=f"{MEMORY_GB}GB",
        walltime="04:00:00",
        worker_extra_args=[
            "--resources",
            resources,
            "--lifetime",
            "230m",
            "--lifetime-stagger",
            "5m",
        ],
        local_directory="/tmp/qnnbuild-dask",  # noqa: S108 - each node's own disk
        log_directory=str(folder / "logs"),
        job_script_prologue=["export QNN_SDK_2_40=/opt/qairt/2.40"],
        scheduler_options={"dashboard_address": ":0"},  # any free port
    )


def main(folder: Path) -> None:
    with slurm(folder) as cluster:
        cluster.adapt(minimum=0, maximum=MOST)
        file = folder / "scheduler.json"
        file.write_text(json.dumps({"address": cluster.scheduler_address}), encoding="utf-8")
        signal.sigwait([signal.SIGINT, signal.SIGTERM])
        file.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
