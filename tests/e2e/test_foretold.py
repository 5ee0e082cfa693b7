"""What `check --operators` foretells of published models, node by node against their compiles."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.e2e.small_repo import REPO, SmallRepo
from tools.atlas.rates import Rate

pytestmark = pytest.mark.slow(seconds=50)

MODELS = ("silero-vad-op18", "speech-embedding", "dnsmos", "minilm-l3", "pp-ocr-cls-quantized")
LETTING_THROUGH = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    outside = {k: v for k, v in os.environ.items() if k.startswith(LETTING_THROUGH)}
    repo = SmallRepo.make(tmp_path_factory.mktemp("zoo") / "repo", **outside)
    repo.timeout_s = 1200
    for name in MODELS:
        shutil.copy(REPO / "recipes" / f"{name}.yaml", repo.root / "recipes")
    for name in ("samples", "notices"):
        shutil.copytree(REPO / "recipes" / name, repo.root / "recipes" / name)
    for name in ("LICENSE", "qnnbuild.yaml"):
        shutil.copy(REPO / name, repo.root / name)
    done = repo.doit("--continue", "convert/*")
    assert done.code == 0, done.out + done.err
    return repo


def test_what_is_foretold_of_real_models_comes_true(
    prepared: SmallRepo, capsys: pytest.CaptureFixture[str]
):
    argv = [sys.executable, "-m", "tools.atlas.foretold"]
    env = {**os.environ, "PYTHONPATH": str(REPO)}
    done = subprocess.run(
        argv, cwd=prepared.root, env=env, check=True, capture_output=True, text=True, timeout=1200
    )
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    cpu = sum((Rate(*row["cpu"]) for row in rows), Rate())
    fusions = sum((Rate(*row["fusions"]) for row in rows), Rate())
    with capsys.disabled():
        sys.stdout.write(f"\nfalls to the CPU: {cpu}\nfusions: {fusions}\n")

    assert len(rows) >= len(MODELS), done.stderr
    assert min(cpu.precision, cpu.recall) >= 0.9
    assert min(fusions.precision, fusions.recall) >= 0.9
