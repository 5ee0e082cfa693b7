"""Every command of qnnbuild in a small repo: what it says, where it says it, how it ends."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.e2e.small_repo import SmallRepo, tiny_repo, told

GOLDEN = Path(__file__).parents[1] / "golden" / "cli"

WRONG = """\
model: wrong
license: MIT
source: {file: ../onnx/deep.onnx}
graphs: {a: {options: {ort: {vtcm: 8}}}}
chips: [SM8575]
"""
CONTEXT = "context/tiny/wide@SM8750"


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Nothing was built in it; tests leave it as it is."""
    return tiny_repo(tmp_path_factory.mktemp("fresh") / "repo")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """Everything was built in it; tests leave it as it is."""
    repo = tiny_repo(tmp_path_factory.mktemp("built") / "repo")
    done = repo.doit()
    assert done.code == 0, done.out + done.err
    return repo


@pytest.fixture
def repo(tmp_path: Path) -> SmallRepo:
    """For tests that change something."""
    return tiny_repo(tmp_path / "repo")


BUILT: dict[str, tuple[str, ...]] = {
    "check": ("check",),
    "check-operators": ("check", "--operators"),
    "plan": ("plan",),
    "plan-of-one": ("plan", "bundle/tiny@SM8550"),
    "plan-stale": ("plan", "--stale"),
    "why": ("why", "context/*"),
    "show-fetch": ("show", "fetch/tiny/wide"),
    "show-prepare": ("show", "prepare/tiny/wide"),
    "show-context": ("show", CONTEXT),
    "show-bundle": ("show", "bundle/quiet/small@SM8750"),
    "show-log": ("show", CONTEXT, "--log"),
    "rebuild": ("rebuild", "context/*"),
    "inspect": ("inspect", "build/tiny/SM8750/wide_ctx.onnx", "onnx/small.onnx"),
    "trace": ("trace", CONTEXT),
    "models": ("models",),
    "recipes": ("recipes",),
    "toolchains": ("toolchains",),
    "chips-one": ("chips", "8 elite", "SM8550"),
    "chips-many": ("chips", "arch>=81 & @phones"),
}
JSON: dict[str, tuple[str, ...]] = {
    "check": ("check",),
    "check-operators": ("check", "--operators"),
    "plan": ("plan", "bundle/quiet/small@SM8750"),
    "why": ("why", "context/quiet/*"),
    "show": ("show", CONTEXT),
    "rebuild": ("rebuild", "context/quiet/*"),
    "trace": ("trace", "context/tiny/deep@SM8750"),
    "inspect": ("inspect", "build/tiny/SM8750/wide_ctx_qnn.bin"),
    "models": ("models",),
    "recipes": ("recipes",),
    "toolchains": ("toolchains",),
    "chips": ("chips", "SM8750"),
}
FRESH: dict[str, tuple[str, ...]] = {
    "check-operators": ("check", "--operators"),
    "plan": ("plan", "tiny"),
    "why": ("why", "bundle/tiny@SM8550"),
    "show": ("show", CONTEXT),
    "show-log": ("show", CONTEXT, "--log"),
    "rebuild": ("rebuild", "tiny"),
    "rebuild-one": ("rebuild", "fetch/quiet"),
    "shell": ("shell", CONTEXT),
    "inspect-nothing": ("inspect", "nothing.bin"),
    "inspect-no-model": ("inspect", "recipes/tiny.yaml", "onnx/deep.onnx"),
    "no-such-name": ("plan", "context/tiny/wide@SM8850"),
    "no-such-name-as-data": ("why", "nothing", "--json"),
    "many-where-one-is-wanted": ("show", "quiet"),
    "no-such-chip": ("chips", "SM8755"),
    "no-such-tag": ("chips", "@phone"),
    "no-such-recipe": ("check", "recipes/tini.yaml"),
    "a-folder-for-a-recipe": ("check", "recipes"),
    "no-such-command": ("pln",),
    "no-command": (),
    "no-such-option": ("plan", "--stail"),
    "a-word-too-few": ("show",),
    "a-word-too-many": ("models", "tiny"),
    "init-where-something-is": ("init", "recipes"),
}


@pytest.mark.parametrize("name", BUILT)
def test_a_command_of_a_built_repo_says(
    name: str, built: SmallRepo, golden: Callable[[Path, str], None]
) -> None:
    golden(GOLDEN / "built" / f"{name}.txt", told(built.qnnbuild(*BUILT[name]), built.root))


@pytest.mark.parametrize("name", JSON)
def test_a_command_says_the_same_as_data(
    name: str, built: SmallRepo, golden: Callable[[Path, str], None]
) -> None:
    done = built.qnnbuild(*JSON[name], "--json")

    assert isinstance(json.loads(done.out), dict | list)
    golden(GOLDEN / "json" / f"{name}.txt", told(done, built.root))


@pytest.mark.parametrize("name", FRESH)
def test_a_command_of_a_fresh_repo_says(
    name: str, fresh: SmallRepo, golden: Callable[[Path, str], None]
) -> None:
    golden(GOLDEN / "fresh" / f"{name}.txt", told(fresh.qnnbuild(*FRESH[name]), fresh.root))


def test_asking_what_a_build_would_do_makes_no_store(fresh: SmallRepo, tmp_path: Path) -> None:
    repo = fresh.copy(tmp_path / "unbuilt")
    codes = [
        repo.qnnbuild(*words).code for words in (("plan",), ("why", "tiny"), ("show", CONTEXT))
    ]

    assert codes == [0, 0, 0]
    assert not (repo.root / ".qnnbuild").exists()


@pytest.mark.parametrize("form", ["text", "json", "github"])
def test_wrong_recipes_are_told_for_whoever_reads_it(
    form: str, repo: SmallRepo, golden: Callable[[Path, str], None]
) -> None:
    repo.recipe("wrong", WRONG)
    repo.recipe("worse", "model: worse\nlicence: MIT\n")
    words = ["check", "--json"] if form == "json" else ["check"]
    done = repo.qnnbuild(*words, env={"GITHUB_ACTIONS": "true"} if form == "github" else {})

    golden(GOLDEN / "wrong" / f"{form}.txt", told(done, repo.root))


def test_the_version_is_told(fresh: SmallRepo) -> None:
    from importlib.metadata import version

    assert fresh.qnnbuild("--version").out == f"qnnbuild {version('qnnbuild')}\n"


def test_help_has_a_line_for_each_command(
    fresh: SmallRepo, capsys: pytest.CaptureFixture[str]
) -> None:
    from qnnbuild.cli import COMMANDS, main

    done = fresh.qnnbuild("--help")

    assert done.code == 0
    assert [name for name in COMMANDS if f"\n    {name}" not in done.out] == []
    for name in COMMANDS:  # here: each process would take a second
        with pytest.raises(SystemExit, match="0"):
            main([name, "--help"])
        assert capsys.readouterr().out.startswith(f"usage: qnnbuild {name} ")


@pytest.mark.parametrize("below", ["recipes", "onnx", "build/tiny/SM8750"])
def test_every_folder_of_the_repo_is_as_good_as_its_root(below: str, built: SmallRepo) -> None:
    for words in (("plan",), ("models",), ("why", CONTEXT)):
        assert built.qnnbuild(*words, below=below) == built.qnnbuild(*words)


def test_files_are_named_from_where_one_stands(fresh: SmallRepo) -> None:
    done = fresh.qnnbuild("check", "tiny.yaml", below="recipes")

    assert (done.code, done.err) == (0, "1 recipe, 2 targets, 12 actions: no mistakes\n")


def test_a_shell_has_the_inputs_in_place_and_does_what_the_action_does(
    built: SmallRepo, tmp_path: Path
) -> None:
    shell = tmp_path / "scripted"
    shell.write_text(
        "#!/bin/sh\npwd\nfind in out -type f | sort\n./again >again.log 2>&1 || cat again.log\n"
        f"find out -type f | sort\ncp out/context/wide_ctx_qnn.bin {tmp_path}\nexit 7\n"
    )
    shell.chmod(0o755)
    done = built.qnnbuild("shell", CONTEXT, env={"SHELL": str(shell)})
    folder, *lines = done.out.splitlines()
    made = (tmp_path / "wide_ctx_qnn.bin").read_bytes()

    assert done.code == 7
    assert lines == [
        "in/model/model.onnx", "in/names/names.json",
        "out/context/wide_ctx.onnx", "out/context/wide_ctx_qnn.bin", "out/facts/wide.json",
    ]  # fmt: skip
    assert len(made) == (built.root / "build/tiny/SM8750/wide_ctx_qnn.bin").stat().st_size
    assert done.err.startswith(f"{CONTEXT}: inputs are in in/, outputs belong into out/; ")
    assert not Path(folder).exists()


def test_a_doctor_finds_this_machine_well_or_says_what_mends_it(built: SmallRepo) -> None:
    done = built.qnnbuild("doctor")
    found = json.loads(built.qnnbuild("doctor", "--json").out)
    rows = {row["what"]: row for row in found}

    # a container may forbid the one, and be short of the other
    unsure = {"address randomisation off", "free disk", "memory"}
    bad = {what for what, row in rows.items() if not row["good"]}
    assert bad <= unsure
    assert done.code == (4 if bad else 0)
    assert len(done.out.splitlines()) == len(rows) + len(bad)
    assert rows["doit's loader"]["found"] == "named"
    assert rows["store"]["found"].startswith(str(built.root / ".qnnbuild"))
    assert [row["mend"] for row in found if row["good"]] == [None] * (len(rows) - len(bad))


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        (".", "made a repo here; now: doit\n"),
        ("of mine", "made of mine; now: cd 'of mine' && doit\n"),
    ],
)
def test_a_new_repo_is_told_with_what_to_type(
    fresh: SmallRepo, tmp_path: Path, folder: str, said: str
) -> None:
    assert SmallRepo(tmp_path, fresh.env).qnnbuild("init", folder).err == said


def test_a_new_repo_has_no_mistakes(fresh: SmallRepo, tmp_path: Path) -> None:
    done = SmallRepo(tmp_path, fresh.env).qnnbuild("init", "new")
    new = SmallRepo(tmp_path / "new", fresh.env)

    assert (done.code, done.out, done.err) == (0, "", "made new; now: cd new && doit\n")
    assert new.qnnbuild("check").err == "1 recipe, 4 targets, 21 actions: no mistakes\n"
    assert not any("{" in path.read_text() for path in new.root.glob("*.txt"))
    assert (new.root / "README.md").read_text().startswith("# new\n")


def test_doit_of_a_new_repo_finds_the_loader_before_it_reads_the_dodo(
    fresh: SmallRepo, tmp_path: Path
) -> None:
    SmallRepo(tmp_path, fresh.env).qnnbuild("init", "new")
    new = SmallRepo(tmp_path / "new", fresh.env)
    (new.root / "dodo.py").unlink()

    assert new.doit("list").out == "silero-vad   everything of silero-vad\n"


@pytest.mark.slow(seconds=110)
def test_a_new_repo_builds_at_once(fresh: SmallRepo, tmp_path: Path) -> None:
    SmallRepo(tmp_path, fresh.env).qnnbuild("init", "new")
    new = SmallRepo(tmp_path / "new", {**fresh.env, **_pip_settings()})
    done = new.doit()
    index = json.loads((new.root / "build" / "index.json").read_text())

    assert (done.code, done.summary) == (0, "made 21")
    assert index["published"] == [
        f"silero-vad/{chip}" for chip in ("SM8550", "SM8650", "SM8750", "SM8850")
    ]
    assert new.doit().summary == "nothing to do: reused 21"
    shutil.rmtree(new.root / ".qnnbuild")


def _pip_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
