"""A real build with dumps, nodes on the CPU and a profile: what is told of nodes, and where."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.small_repo import SmallRepo
from tests.models import tiny_conv, with_erf

PROFILED = Path(__file__).with_name("profiled.py")
RECIPE = """\
model: net
license: MIT
source: {file: "../onnx/{graph}.onnx"}
chips: [SM8750, SM8550]
graphs:
  conv: {DUMPS}
  erf:
    cpu_fallback: allow
    only: {SM8550: {cpu_fallback: refuse}}
    expect_failure: {only: SM8550, reason: the NPU has no Erf}
"""
DUMPS = "only: {SM8750: {dumps: [op_trace, dlc], options: {ort: {profiling_level: detailed}}}}"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Built without dumps first, so that the bundle of then can be compared."""
    repo = SmallRepo.make(tmp_path_factory.mktemp("accounting") / "repo")
    repo.model("conv", tiny_conv())
    repo.model("erf", with_erf())
    repo.recipe("net", RECIPE.replace("DUMPS", "precision: fp16"))
    done = repo.doit()
    assert done.code == 0, done.out + done.err
    shutil.copytree(repo.root / "build/net", repo.root / "before")
    repo.recipe("net", RECIPE.replace("DUMPS", DUMPS))
    done = repo.doit()
    assert done.code == 0, done.out + done.err
    (repo.root / "second.txt").write_text("\n".join(done.ran))
    return repo


def manifest(repo: SmallRepo) -> Any:
    return json.loads((repo.root / "build/net/SM8750/manifest.json").read_text())


@pytest.mark.slow(seconds=20)
def test_a_node_on_the_cpu_has_its_reason_and_both_sources_agree(built: SmallRepo) -> None:
    graph = manifest(built)["graphs"]["erf"]

    assert graph["on_cpu"] == [
        {
            "node": "gelu/erf",
            "operator": "Erf",
            "reason": "Operators of type `Erf` are not supported by QNN EP.",
        }
    ]
    assert graph["on_cpu_differs"] == []
    assert (
        "| `gelu/erf` | Erf | Operators of type `Erf`"
        in (built.root / "build/net/SM8750/README.md").read_text()
    )


@pytest.mark.slow
def test_dumps_and_profiling_compile_nothing_again(built: SmallRepo) -> None:
    ran = (built.root / "second.txt").read_text().split()

    assert sorted(name for name in ran if not name.startswith("bundle/")) == [
        "dump/net/conv/dlc@SM8750",
        "dump/net/conv/op_trace@SM8750",
    ]


@pytest.mark.slow
def test_dumps_land_beside_the_bundles_and_change_none(built: SmallRepo) -> None:
    landed = built.files("build/dumps")
    binary = "SM8750/conv_ctx_qnn.bin"

    assert sorted(Path(name).suffix for name in landed) == [".dlc", ".json", ".json"]
    assert {name.rpartition("/")[0] for name in landed} == {
        "net/SM8750/conv/dlc", "net/SM8750/conv/op_trace",
    }  # fmt: skip
    assert built.files("before")[binary] == built.files("build/net")[binary]


@pytest.mark.slow
def test_dumps_alone_are_made_by_their_pattern(built: SmallRepo) -> None:
    done = built.doit("dump/*")

    assert (done.code, done.ran) == (0, [])


@pytest.mark.slow
def test_a_trace_of_a_known_failure_is_made_once_and_says_why(built: SmallRepo) -> None:
    first = built.qnnbuild("trace", "expect/net/erf@SM8550")
    again = built.qnnbuild("trace", "expect/net/erf@SM8550")

    assert first.err == "dump/net/erf/op_trace@SM8550: compiling with an op trace\n"
    assert (again.code, again.err) == (0, "")
    assert (
        again.out
        == first.out
        == (
            "node    operator  QNN operators   fusion\n"
            "first   MatMul    FullyConnected\n"
            "second  MatMul    FullyConnected\n"
            "\n"
            "on the CPU: gelu/erf (Erf): Operators of type `Erf` are not supported by QNN EP.\n"
            "\n"
            "3 nodes, 2 QNN operators, 0 fusions; 1 on the CPU\n"
        )
    )


@pytest.mark.slow
def test_a_profile_of_the_emulator_is_read_by_the_models_own_nodes(
    built: SmallRepo, tmp_path: Path
) -> None:
    run = shutil.copytree(built.root / "build/net/SM8750", tmp_path / "run")
    for name in ("op_trace.json", "qnn_op_trace.json"):
        shutil.copy(built.root / f"build/dumps/net/SM8750/conv/op_trace/{name}", run / name)
    argv = [sys.executable, str(PROFILED), str(run), "conv_ctx.onnx", "69", "detailed"]
    subprocess.run(argv, check=True, capture_output=True, timeout=300)
    shown = built.qnnbuild("inspect", str(run / "profile.csv"), "--json")
    rows = {row["operator"]: row["nodes"] for row in json.loads(shown.out)[0]["rows"]}
    head = (run / "profile.csv").read_text().splitlines()[0]

    page = tmp_path / "report.html"
    reported = built.qnnbuild("report", "--profile", str(run / "profile.csv"), "-o", str(page))

    assert shown.code == 0, shown.err
    assert reported.code == 0, reported.err
    assert "<h3>profile.csv</h3>" in page.read_text()
    assert rows["conv_token_1"] == ["conv"]
    assert rows["relu"] == ["relu"]
    assert head.endswith(",ONNX Source Ops")  # the plugin took the op trace that lay beside
