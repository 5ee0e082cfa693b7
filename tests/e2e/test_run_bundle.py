"""run.py beside a bundle, started by hand as a user does, on the real emulator."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qnnbuild.work.npz import read_npz
from qnnbuild.work.run_bundle import DEVICE_ONLY
from tests.e2e.small_repo import Done, SmallRepo
from tests.models import tiny_conv, two_branch, with_erf

pytestmark = pytest.mark.slow(seconds=30)

PAIR = """\
model: pair
license: MIT
source: {file: "../onnx/{graph}.onnx"}
graphs:
  two:
    inputs: {a: {range: [0, 3]}}
    run: {perf_mode: burst, rpc_control_latency: 100, workload_type: Efficient}
    options: {ort: {htp_performance_mode: balanced}}
  conv: {}
chips: [SM8750]
"""
INSIDE = """\
model: inside
license: MIT
source: {file: ../onnx/two.onnx}
graphs: {two: {inputs: {a: {range: [0, 3]}}}}
context: {embed: true}
chips: [SM8750]
"""
PARTLY = """\
model: partly
license: MIT
source: {file: ../onnx/partly.onnx}
graphs: {partly: {cpu_fallback: allow}}
chips: [SM8750]
"""


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    made = SmallRepo.make(tmp_path_factory.mktemp("run") / "repo")
    (made.root / "qnnbuild.yaml").write_text("")  # all is verified
    for name, model in (("two", two_branch()), ("conv", tiny_conv(8)), ("partly", with_erf())):
        made.model(name, model)
    for name, text in (("pair", PAIR), ("inside", INSIDE), ("partly", PARTLY)):
        made.recipe(name, text)
    done = made.doit()
    assert (done.code, done.err) == (0, "")
    return made


@pytest.fixture(scope="module")
def verified(repo: SmallRepo, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What verify ran pair/two on, what the original answers, and what the binary answered."""
    folder = tmp_path_factory.mktemp("verified")
    for action, output, name in (
        ("samples/pair/two", "feeds", "samples"),
        ("reference/pair/two", "reference", "references"),
        ("verify/pair/two@SM8750", "outputs", "answers"),
    ):
        record = json.loads(repo.qnnbuild("show", action, "--json").out)["record"]
        (folder / name).mkdir()
        for file, (digest, _) in record["outputs"][output]["files"].items():
            (stored,) = (repo.root / ".qnnbuild" / "artifacts").rglob(f"*{digest[2:]}*")
            if file.endswith(".npz"):
                shutil.copyfile(stored, folder / name / file)
    return folder


@pytest.fixture
def bundle(repo: SmallRepo, tmp_path: Path) -> Path:
    """A copy to change something in."""
    copied = tmp_path / "bundle"
    shutil.copytree(repo.root / "build/pair/SM8750", copied)
    for path in copied.iterdir():
        path.chmod(0o644)
    return copied


def run(bundle: Path, *words: str | Path) -> Done:
    """In a folder of the user's and a process that knows nothing of this repo."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    here = bundle.parent / "here"
    here.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, bundle / "run.py", *words], cwd=here, env=env, text=True,
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stderr, done.stderr
    return Done(done.returncode, done.stdout, done.stderr)


def manifest_of(bundle: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((bundle / "manifest.json").read_text(encoding="utf-8"))
    return found


def forged(bundle: Path, **options: dict[str, str]) -> None:
    """Other options in place of those of `two`."""
    program = (bundle / "run.py").read_text()
    head, _, rest = program.partition("RUN: ")
    _, _, rest = rest.partition("\n}")
    run_of = {**manifest_of(bundle)["graphs"]["two"]["run"], **options}
    (bundle / "run.py").write_text(f"{head}RUN = {{'two': {run_of!r}}}{rest}")


def numbers(told: str) -> Iterator[tuple[str, list[float]]]:
    for line in told.splitlines():
        if ": SQNR " in line:
            name, _, said = line.partition(": SQNR ")
            yield (
                name,
                [float(word) for word in said.replace(",", "").split() if word[-1].isdigit()],
            )


def test_it_answers_as_verify_did_and_has_its_numbers(
    repo: SmallRepo, verified: Path, tmp_path: Path
) -> None:
    bundle = repo.root / "build/pair/SM8750"
    words = ("--graph", "two", "--inputs", verified / "samples", "--compare")
    done = run(bundle, *words, verified / "references", "--output", tmp_path / "answers")
    outputs = manifest_of(bundle)["graphs"]["two"]["verified"]["outputs"]

    assert (done.code, done.err) == (0, "")
    assert {name: found[:2] for name, found in numbers(done.out)} == {
        name: [one["sqnr_db"], one["max_abs"]] for name, one in outputs.items()
    }
    for file in ("000000.npz", "000001.npz"):
        ours, theirs = (read_npz(at / file) for at in (tmp_path / "answers", verified / "answers"))
        assert ours.keys() == theirs.keys() == {"sum", "product"}
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)


def test_its_random_inputs_are_those_of_verify(
    repo: SmallRepo, verified: Path, tmp_path: Path
) -> None:
    found = tmp_path / "found.npz"
    done = run(
        repo.root / "build/pair/SM8750", "--graph", "two", "--random", "1", "--output", found
    )
    ours, theirs = read_npz(found), read_npz(verified / "answers" / "000001.npz")

    assert done.code == 0
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


def test_it_gives_the_runtime_all_that_the_recipe_says(repo: SmallRepo) -> None:
    done = run(repo.root / "build/pair/SM8750", "--graph", "two", "--repeat", "3")
    lines = done.out.splitlines()

    assert (
        "provider_options: backend_type=htp, htp_performance_mode=balanced, soc_model=69" in lines
    )
    assert "session_options: session.disable_cpu_ep_fallback=1" in lines
    modes = "qnn.htp_perf_mode=burst, qnn.perf_mode=burst"
    assert f"run_options: {modes}, qnn.rpc_control_latency=100" in lines
    assert "dynamic_options: ep.dynamic.workload_type=Efficient" in lines
    assert "nodes: QNNExecutionProvider 1" in lines
    assert lines[-1].startswith("3 runs: median ")
    assert lines[-1].endswith("; on the emulator this says nothing about the chip")


def test_the_library_acts_on_what_it_is_given(repo: SmallRepo) -> None:
    done = run(repo.root / "build/pair/SM8750", "--graph", "two", "--verbose")
    said = done.out + done.err

    assert "Updating htp performance mode to: burst" in said
    assert "Updating rpc control latency to: 100us" in said


def test_each_graph_of_a_bundle_runs_by_its_name(repo: SmallRepo) -> None:
    bundle = repo.root / "build/pair/SM8750"
    conv, none = run(bundle, "--graph", "conv"), run(bundle)

    assert (conv.code, conv.err) == (0, "")
    assert "scores float32 [1, 10]" in conv.out
    assert "run_options" not in conv.out
    assert (none.code, none.err) == (2, "run.py: which graph? --graph is one of conv, two\n")


def test_a_binary_inside_its_onnx_file_runs_and_answers_the_same(
    repo: SmallRepo, verified: Path, tmp_path: Path
) -> None:
    bundle, found = repo.root / "build/inside/SM8750", tmp_path / "found.npz"
    done = run(bundle, "--inputs", verified / "samples" / "000000.npz", "--output", found)
    ours, theirs = read_npz(found), read_npz(verified / "answers" / "000000.npz")

    assert not list(bundle.glob("*.bin"))
    assert (done.code, done.err) == (0, "")
    assert "files: 1, each as manifest.json says" in done.out.splitlines()
    assert all(np.array_equal(ours[name], theirs[name]) for name in theirs)


def test_nodes_run_on_the_cpu_only_where_the_recipe_allows_it(
    repo: SmallRepo, bundle: Path
) -> None:
    done = run(repo.root / "build/partly/SM8750")
    shutil.rmtree(bundle)
    shutil.copytree(repo.root / "build/partly/SM8750", bundle)
    program = bundle / "run.py"
    program.chmod(0o644)
    alone = '"session_options": {"session.disable_cpu_ep_fallback": "1"}'
    program.write_text(program.read_text().replace('"session_options": {}', alone))
    refused = run(bundle)

    assert (done.code, done.err) == (0, "")
    assert "CPUExecutionProvider" in done.out
    assert refused.code == 4
    assert "assigned to the default CPU EP" in refused.err


def test_a_swapped_binary_is_refused_before_anything_runs(bundle: Path) -> None:
    shutil.copyfile(bundle / "conv_ctx_qnn.bin", bundle / "two_ctx_qnn.bin")
    done, checked = run(bundle, "--graph", "two"), run(bundle, "--check")

    assert (done.code, checked.code) == (5, 5)
    assert done.err.startswith("run.py: 'two_ctx_qnn.bin' is not the file of this bundle: ")
    assert "loaded" not in done.out


def test_what_the_plugin_refuses_is_told_in_its_words(bundle: Path) -> None:
    forged(bundle, dynamic_options={"ep.dynamic.workload_type": "efficient"})
    done = run(bundle, "--graph", "two")

    assert done.code == 4
    assert "Invalid EP Workload Type: efficient" in done.err


@pytest.mark.parametrize("name", DEVICE_ONLY)
def test_what_only_a_device_has_is_left_out_on_the_emulator_and_told(
    name: str, bundle: Path
) -> None:
    forged(bundle, provider_options={"backend_type": "htp", name: "1"})
    done = run(bundle, "--graph", "two")
    program = bundle / "run.py"
    before, mark, rest = program.read_text().partition("DEVICE_ONLY = ")
    program.write_text(before + mark + rest.replace(f'"{name}"', '"another"'))
    given = run(bundle, "--graph", "two")

    assert (done.code, done.err) == (0, "")
    assert f"left out, since the emulator has no such thing: {name}=1" in done.out.splitlines()
    assert given.code == 4


def test_a_profile_is_written_where_the_user_is(repo: SmallRepo, tmp_path: Path) -> None:
    bundle = tmp_path / "bundle"
    shutil.copytree(repo.root / "build/pair/SM8750", bundle)
    done = run(bundle, "--graph", "two", "--profile", "detailed")
    table = (tmp_path / "here" / "profile.csv").read_text()

    assert (done.code, done.err) == (0, "")
    assert table.startswith("Msg Timestamp,Message,Time,")
    assert "Accelerator (load binary) time" in table
    assert (tmp_path / "here" / "profile_qnn.log").stat().st_size > 0
    assert sorted(path.name for path in bundle.iterdir()) == [
        *("LICENSE.txt", "README.md", "bom.cdx.json", "conv_ctx.onnx", "conv_ctx_qnn.bin"),
        *("manifest.json", "provenance.intoto.json", "run.py", "two_ctx.onnx"),
        "two_ctx_qnn.bin",
    ]


def test_the_card_of_the_bundle_shows_code_that_runs(bundle: Path, verified: Path) -> None:
    card = (bundle / "README.md").read_text()
    code = card.partition("```python\n")[2].partition("```")[0]
    options = '{"backend_type": "htp"'
    code = code.replace(options, f'{options}, "soc_model": "69"')  # which the emulator needs
    sample = str(verified / "samples" / "000000.npz")
    feed = f"import numpy\ninputs = dict(numpy.load({sample!r}))\n"
    script = bundle / "by_hand.py"
    script.write_text(f"{feed}{code}\nprint([len(a[0]) for a in answers])\n")
    done = subprocess.run(
        [sys.executable, script],
        cwd=bundle,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )

    assert "soc_model" in code
    assert done.stdout.splitlines()[-1] == "[64, 64]"


def test_help_names_the_commands_that_read_a_profile(bundle: Path) -> None:
    done = run(bundle, "--help")

    assert done.code == 0
    assert "qnn-profile-viewer --input_log profile_qnn.log" in done.out
    assert "--schematic NAME_schematic.bin" in done.out
