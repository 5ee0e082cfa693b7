"""The public recipes, each for one chip, in a folder of its own; and the same bytes once more.

What takes the emulator longest, and the search for a precision, are run by `make zoo` alone: tests
of their own have a search (test_search_in_a_build.py) and runs of real models (test_magika.py).
"""

from __future__ import annotations

import json
import os
import re
import shutil

import pytest

from tests.e2e.small_repo import REPO, SmallRepo

pytestmark = pytest.mark.slow(seconds=200)

CHIP = "SM8750"
CHIPS = re.compile(r"^chips: .*$", re.MULTILINE)
LONG_S = 1200  # each graph runs on the emulator, too
EXPECTED = re.compile(r"^    expect_failure:\n(?:      .*\n)+", re.MULTILINE)
LONG_RUN = re.compile(r"^( +verify:) \{chips: \[SM8750\].*", re.MULTILINE)
"""Recipes have what takes the emulator longest run for one chip only."""

SEARCHED = "minilm-l3-searched.yaml"
LETTING_THROUGH = ("PIP_", "SSL_", "REQUESTS_", "HTTP", "http", "NO_PROXY", "no_proxy")


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    """This repo's recipes, each for one chip; downloads go the way of the user's own pip."""
    outside = {k: v for k, v in os.environ.items() if k.startswith(LETTING_THROUGH)}
    repo = SmallRepo.make(tmp_path_factory.mktemp("zoo") / "repo", **outside)
    repo.timeout_s = LONG_S
    shutil.copytree(REPO / "recipes", repo.root / "recipes", dirs_exist_ok=True)
    for name in ("LICENSE", "qnnbuild.yaml"):
        shutil.copy(REPO / name, repo.root / name)
    (repo.root / "recipes" / SEARCHED).unlink()
    long_runs = 0
    for path in (repo.root / "recipes").glob("*.yaml"):
        text, count = CHIPS.subn(f"chips: [{CHIP}]", path.read_text())
        assert count == 1, path
        text, found = LONG_RUN.subn(r"\1 {chips: none}", text)
        long_runs += found
        path.write_text(EXPECTED.sub("", text))  # of other chips
    assert long_runs == 13
    return repo


def test_every_recipe_builds(zoo: SmallRepo) -> None:
    planned = zoo.qnnbuild("plan", "--json")
    names = [action["name"] for action in json.loads(planned.out)]
    bundles = {name for name in names if name.startswith("bundle/")}
    models = {row["model"] for row in json.loads(zoo.qnnbuild("models", "--json").out)}
    done = zoo.doit("-n", "2", "--continue")
    index = json.loads((zoo.root / "build" / "index.json").read_text())

    assert (done.code, done.err) == (0, "")
    assert bundles <= set(done.ran) <= set(names)  # what two recipes share is made once
    assert set(index["chips"]) == {CHIP}
    assert set(index["chips"][CHIP]) == models
    assert len(models) >= 10


def test_every_binary_names_its_chip(zoo: SmallRepo) -> None:
    binaries = [p.relative_to(zoo.root).as_posix() for p in (zoo.root / "build").rglob("*.bin")]
    found = json.loads(zoo.qnnbuild("inspect", "--json", *binaries).out)

    assert len(found) >= 10
    assert {facts["soc_type"] for facts in found} == {CHIP}


QUANTIZED = re.compile(r"^convert/[^+]+\+w\d+a\d+$", re.MULTILINE)


@pytest.mark.parametrize(("step", "least"), [("convert", 10), ("context", 10)])
def test_every_model_is_the_same_when_it_is_built_again(
    step: str, least: int, zoo: SmallRepo
) -> None:
    done = zoo.qnnbuild("rebuild", f"{step}/*", "--json")
    compared = json.loads(done.out)
    names = {one["name"] for one in compared}

    assert done.code == 0
    assert [one for one in compared if one["verdict"] != "same"] == []
    assert len(names) >= least
    if step == "convert":  # quantizing measures, so it could come out otherwise
        assert len({name for name in names if QUANTIZED.match(name)}) >= 6
