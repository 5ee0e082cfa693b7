"""The README's recipe is a whole one, and its commands are those that work."""

from __future__ import annotations

import re
from pathlib import Path

from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.targets import read_recipes

ROOT = Path(__file__).parents[2]


def test_the_readme_has_a_recipe_of_twelve_lines() -> None:
    assert len(recipe().splitlines()) <= 12


def test_the_recipe_of_the_readme_is_right() -> None:
    targets = read_recipes([("recipes/silero-vad.yaml", recipe())], packaged_chips())

    assert {graph.name for target in targets for graph in target.graphs} == {"vad"}
    assert {"SM8550", "SM8650", "SM8750", "SM8850"} <= {target.chip.name for target in targets}


def test_the_readme_and_ci_name_commands_of_the_makefile() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    made = set(re.findall(r"^([a-z]+):(?!=)", makefile, re.MULTILINE))
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")

    assert {"make zoo", "make test"} <= set(re.findall(r"\bmake [a-z]+", readme()))
    assert {"zoo", "test"} <= made
    assert ci.splitlines()[-1] == "exec make test"


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def recipe() -> str:
    """The README's first block of YAML."""
    block = re.search(r"^```yaml\n(.*?)^```", readme(), re.MULTILINE | re.DOTALL)
    assert block

    return block.group(1)
