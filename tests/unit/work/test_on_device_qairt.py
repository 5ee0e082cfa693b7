"""What the phone is told to do, and with which files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.engine.closure import Closure
from qnnbuild.work import on_device_qairt
from qnnbuild.work.run import Run

THERE = "/data/local/tmp/qnnbuild/m"
FACTS = {"graph": "enc", "graphs_in_binary": ["dec", "enc"], "files": {"dec.bin": {}}}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    (tmp_path / "enc.json").write_text(json.dumps(FACTS), encoding="utf-8")
    return Run(
        params={"stem": "enc", "folder": THERE, "device": {"htp": {}}},
        inputs={"facts": tmp_path, "context": tmp_path},
        outputs={},
    )


def words(run: Run, *pushed: str) -> str:
    return on_device_qairt._command(run, FACTS, list(pushed))


def test_other_graphs_of_the_binary_are_passed_over(run: Run) -> None:
    told = words(run)

    assert (
        "--retrieve_context ./dec.bin --input_list __,input_list.txt --output_dir results" in told
    )
    assert "--config_file" not in told


def test_folders_of_the_hexagon_stand_before_the_phones_own_and_apart_by_semicolons(
    run: Run,
) -> None:
    told = words(run, "op_packages/htp/libMine.so", "inputs/000000-0.raw")
    own = f"{THERE}/op_packages/htp"

    assert f'ADSP_LIBRARY_PATH="{THERE};{own}${{ADSP_LIBRARY_PATH:+;$ADSP_LIBRARY_PATH}}"' in told
    assert f'LD_LIBRARY_PATH="{THERE}:{own}${{LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}}"' in told


def test_own_operators_and_how_it_runs_are_said(run: Run, tmp_path: Path) -> None:
    device: dict[str, Any] = {
        "htp": {"devices": [{"device_id": 0}]},
        "extensions": {"graph_configs": [{"graph_name": "foreseen", "graph_priority": "low"}]},
        "op_packages": "./a.so:Fn:CPU",
    }
    run = Run(params={**run.params, "device": device}, inputs=run.inputs, outputs={})

    pushed = on_device_qairt._settings(run, tmp_path, FACTS)
    outer = json.loads((tmp_path / "htp_backend_extensions.json").read_text(encoding="utf-8"))

    assert pushed == ["htp_config.json", "htp_backend_extensions.json"]
    assert outer["backend_extensions"] == {
        "shared_library_path": "./libQnnHtpNetRunExtensions.so",
        "config_file_path": f"{THERE}/htp_config.json",
    }
    assert outer["graph_configs"] == [{"graph_name": "enc", "graph_priority": "low"}]
    told = words(run, *pushed)
    assert "--config_file htp_backend_extensions.json" in told
    assert told.endswith('--op_packages ./a.so:Fn:CPU; echo "ended with $?"')


def test_the_judge_needs_nothing_of_the_build_but_what_goes_along(tmp_path: Path) -> None:
    on_device_qairt._judge(tmp_path)
    inside = {p.relative_to(tmp_path / "judge").as_posix() for p in tmp_path.rglob("judge/**/*.py")}

    for path in tmp_path.rglob("judge/**/*.py"):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.lstrip().startswith(("from qnnbuild", "import qnnbuild")):
                module = line.split()[1].replace(".", "/")
                assert f"{module}.py" in inside, f"{path.name}: {line}"


def test_what_goes_along_is_part_of_the_key() -> None:
    found = {name.rpartition(".")[2] for name in Closure().files("qnnbuild.work.on_device_qairt")}

    assert {"run_on_phone", "verdict", "bars", "measures", "numbers"} <= found
