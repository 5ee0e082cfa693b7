"""What each refusal of an SDK's tool says, and each silence that it ends well with.

The stand-in refuses as the tools do. An error has to show the tool's own last lines and what
repeats it by hand; nothing of what failed may be left or ship.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from qnnbuild.engine.state import Stale
from qnnbuild.errors import Problem, QnnbuildError
from qnnbuild.session import Live, open_session
from tests.e2e.refused import (
    ANDROID,
    CONTEXT,
    CONVERT,
    CONVERTER,
    GENERATOR,
    LIBRARIAN,
    LIBRARY,
    REFUSALS,
    SILENCES,
)
from tests.e2e.sdk_repo import SdkRepo, sdk_repo, spoilt
from tests.e2e.small_repo import BIN
from tests.standin.lay_out import HOST, facts_of, lay_out_ndk, turn
from tests.standin.tools.release import FACTS, SWITCHES

pytestmark = pytest.mark.slow(seconds=90)

READY = (f"library/sense/model/6/{HOST}", "convert/sense/model/10+w8a16", "calibrate/late/model")

LATE = """\
model: late
license: MIT
toolchain: qairt-2.40
chips: [SM8750]
source: {file: "../models/6.onnx"}
graphs:
  model:
    inputs: {x: {layout: NTF}}
    precision: w8a8
    calibration: {random: 1}
    verify: {chips: none}
    options: {qairt: {extensions: {context_priority: high, graph_priority: low}}}
"""


@dataclass(frozen=True)
class Bench:
    """A repo in which each step is about to run, and what runs it in this process."""

    repo: SdkRepo
    live: Live

    def tool(self, name: str) -> Path:
        return self.repo.old / "bin" / HOST / name

    def fails(self, action: str) -> tuple[Problem, int]:
        """Nothing of what failed may be kept."""
        with pytest.raises(QnnbuildError) as caught:
            self.live.make(action)
        (problem,) = caught.value.problems
        store = Path(self.repo.env["QNNBUILD_STORE"])
        assert sorted(path.name for path in (store / "tmp").iterdir()) == []
        assert [path.name for path in (self.repo.root / "build").iterdir() if path.is_dir()] == []
        return problem, caught.value.exit_code


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    repo = sdk_repo(tmp_path_factory.mktemp("refusals"))
    repo.write("recipes/late.yaml", LATE)
    done = repo.doit(*READY)
    assert done.code == 0, done.err
    with pytest.MonkeyPatch.context() as patch:
        for name in ("QNNBUILD_STORE", "SDK_240"):
            patch.setenv(name, repo.env[name])
        live = Live(open_session(repo.root))
        for action in (CONVERT, LIBRARY, ANDROID, CONTEXT):
            assert isinstance(live.state(action), Stale)  # tools count as they are now
        yield Bench(repo, live)
        live.close()


@contextmanager
def kept(file: Path) -> Iterator[None]:
    """What a test makes of it is undone."""
    text = file.read_text()
    yield
    file.write_text(text)


@contextmanager
def away(path: Path) -> Iterator[None]:
    path.rename(path.with_name("away"))
    yield
    path.with_name("away").rename(path)


def released(root: Path, version: str) -> None:
    """All tools of the SDK are of this version: as in a folder that was put together of two."""
    (root / FACTS).write_text(json.dumps(facts_of(version)._asdict()))


@pytest.mark.parametrize("name", [*REFUSALS, *SILENCES])
def test_a_failure_shows_the_tools_last_lines_and_what_repeats_it(bench: Bench, name: str):
    case = {**REFUSALS, **SILENCES}[name]
    with ExitStack() as stack:
        stack.enter_context(kept(bench.repo.old / FACTS))
        if case.gone:
            stack.enter_context(away(bench.repo.old / case.gone))
        if case.release:
            released(bench.repo.old, case.release)
        if case.switch:
            turn(bench.repo.old, *case.switch)
            stack.callback((bench.repo.old / SWITCHES).unlink)
        if case.spoil:
            stack.enter_context(spoilt(bench.tool(case.tool), **case.spoil))
        problem, code = bench.fails(case.action)

    facts = dict(problem.facts)
    assert problem.message.startswith(case.message)
    assert case.said in " ".join(facts.get("last lines", "").split())
    assert code == case.code
    assert case.hint in (problem.hint or "")
    assert case.facts.items() <= facts.items()
    assert facts["by hand"].splitlines()[:2] == [f"qnnbuild shell {case.action}", "./again"]
    assert f"/{case.tool} " in facts["by hand"].splitlines()[2]
    assert problem.at is not None
    assert problem.at.file.startswith("recipes/")
    assert Path(facts["log"]).is_file()


@pytest.mark.parametrize(
    ("tool", "action"), [(CONVERTER, CONVERT), (LIBRARIAN, LIBRARY), (GENERATOR, CONTEXT)]
)
def test_what_repeats_a_failure_works_when_it_is_pasted_into_a_shell(
    bench: Bench, tool: str, action: str
):
    with spoilt(bench.tool(tool), last="print('not well'); ended = 1"):
        problem, _ = bench.fails(action)
        facts = dict(problem.facts)
        fails = pasted(bench.repo, facts["by hand"])
    works = pasted(bench.repo, facts["by hand"])

    assert facts["last lines"].endswith("not well")
    assert fails.endswith("not well\nended 1")
    assert "error:" not in works
    assert works.endswith("ended 0")


def pasted(repo: SdkRepo, lines: str) -> str:
    """All that a shell shows into which these lines are pasted, and how the last one ended."""
    env = {**repo.env, "PATH": f"{BIN}:{repo.env['PATH']}", "SHELL": "/bin/bash"}
    done = subprocess.run(
        ["/bin/bash"], input=f"{lines}\necho ended $?\n", cwd=repo.root, env=env, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout.strip()


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> tuple[SdkRepo, dict[str, bytes]]:
    """A repo with one bundle in build/."""
    repo = sdk_repo(tmp_path_factory.mktemp("shipped"))
    repo.write("recipes/sense.yaml", LATE)
    done = repo.doit()
    assert done.code == 0, done.err
    return repo, repo.files("build/late")


def test_a_compile_that_fails_leaves_the_bundle_of_before(shipped):
    """It wrote its file, then failed: neither that nor what an earlier run left is taken."""
    repo, before = shipped
    tool = repo.old / "bin" / HOST / GENERATOR
    repo.write("recipes/sense.yaml", LATE.replace("w8a8", "w8a16"))

    with spoilt(tool, last="ended = 1"):
        fails = repo.doit()
    failed = repo.files("build/late")
    works = repo.doit()

    assert fails.code == 4
    assert "by hand:    qnnbuild shell context/late/model@SM8750" in fails.out
    run = json.loads(before["SM8750/manifest.json"])["graphs"]["model"]["run"]
    assert run["extensions"]["graph_configs"] == [{"graph_name": "model", "graph_priority": "low"}]
    assert failed == before
    assert list((Path(repo.env["QNNBUILD_STORE"]) / "tmp").iterdir()) == []
    assert works.code == 0, works.err
    assert repo.files("build/late").keys() == before.keys()
    assert repo.files("build/late") != before


def test_settings_that_did_not_count_ship_nothing(shipped):
    repo, _ = shipped
    repo.write("recipes/sense.yaml", LATE.replace("SM8750", "SM8550"))

    with spoilt(repo.old / "bin" / HOST / GENERATOR, drop=["--config_file"]):
        done = repo.doit()

    assert done.code == 5
    assert "HTP: v68, asked for v73" in " ".join(done.out.split())
    assert not (repo.root / "build/late/SM8550").exists()


@pytest.mark.parametrize(
    ("gone", "action", "message"),
    [
        (f"bin/{HOST}/{CONVERTER}", CONVERT, f"bin/{HOST}/{CONVERTER} is not in it"),
        (f"lib/{HOST}/libQnnHtp.so", CONTEXT, f"lib/{HOST}/libQnnHtp.so is not in it"),
        ("sdk.yaml", CONVERT, "sdk.yaml is not in it"),
    ],
)
def test_an_sdk_that_is_not_whole_is_told_before_anything_runs(
    bench: Bench, gone: str, action: str, message: str
):
    with away(bench.repo.old / gone):
        done = bench.repo.doit(action)

    assert done.code == 4
    assert f"the toolchain qairt-2.40 is not here: {message}" in done.out
    assert "qnnbuild.yaml:2:3" in done.out


def test_an_ndk_without_its_build_is_told_before_anything_runs(bench: Bench, tmp_path: Path):
    ndk = lay_out_ndk(tmp_path / "half")
    (ndk / "ndk-build").unlink()
    settings = bench.repo.root / "qnnbuild.yaml"
    with kept(settings):
        settings.write_text(re.sub(r"ndk: .*", f"ndk: {ndk}", settings.read_text(), count=1))
        done = bench.repo.doit(ANDROID)

    assert done.code == 4
    assert "the Android NDK has no ndk-build in it" in done.out


def test_a_library_of_another_sdk_is_none(bench: Bench):
    """The converter's code is of another version than the SDK whose name it has."""
    with kept(bench.repo.old / FACTS):
        released(bench.repo.old, "2.42.0.251225")
        done = bench.repo.doit("library/late/model/" + HOST)

    assert done.code == 5
    assert "libmodel.so was made by SDK 2.42.0.251225" in done.out
