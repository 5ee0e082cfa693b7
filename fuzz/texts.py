"""Recipes, settings and chips."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from fuzz.target import CASES, DEEP, ROOT

if TYPE_CHECKING:
    from qnnbuild.model.chips import Chips


def _yaml(data: bytes) -> None:
    from qnnbuild.text.reader import read_nodes
    from qnnbuild.text.render import github, terminal

    _, problems = read_nodes("any.yaml", data)
    terminal(problems)
    if len(github(problems).splitlines()) != len(problems):
        raise AssertionError("an annotation of more than one line")


def _recipe(data: bytes) -> None:
    from qnnbuild.model.targets import read_good_recipes

    targets, problems = read_good_recipes([("recipes/any.yaml", data)], packaged())
    if bool(targets) == bool(problems):
        raise AssertionError("neither targets nor problems, or both")


@cache
def packaged() -> Chips:
    from qnnbuild.model.chips import packaged_chips

    return packaged_chips()


def _plan(data: bytes) -> None:
    """A recipe up to its actions, as `qnnbuild plan` of a stranger's repo has them."""
    from qnnbuild.errors import QnnbuildError
    from qnnbuild.model.targets import read_good_recipes
    from qnnbuild.planner import TOOLCHAINS, plan_of, problems_of

    toolchains = {toolchain.name: toolchain for toolchain in TOOLCHAINS}
    targets, _ = read_good_recipes([("recipes/any.yaml", data)], packaged())
    with suppress(QnnbuildError):
        if not any(p.severity == "error" for p in problems_of(targets, toolchains)):
            plan_of(tuple(targets), toolchains)


def _settings(data: bytes) -> None:
    from qnnbuild.errors import RecipeError
    from qnnbuild.model.settings import read_settings

    with suppress(RecipeError):
        read_settings(data)


def _own_chips(data: bytes) -> None:
    from qnnbuild.errors import Problem, RecipeError
    from qnnbuild.model.own_chips import with_own_chips
    from qnnbuild.text.decode import decode

    text = decode("chips.yaml", data)
    if not isinstance(text, Problem):
        with suppress(RecipeError):
            with_own_chips(packaged(), text, "chips.yaml")


def _yaml_seeds() -> Iterator[bytes]:
    for folder in (CASES / "yaml", ROOT / "recipes", ROOT / "tests" / "golden" / "errors"):
        yield from (p.read_bytes() for p in sorted(folder.rglob("*.yaml")))
    yield from DEEP


def _plan_seeds() -> Iterator[bytes]:
    """Small ones: planning a family of models takes seconds."""
    for folder in (
        CASES / "yaml",
        ROOT / "tests" / "golden" / "plans",
        ROOT / "qnnbuild" / "starter",
    ):
        yield from (p.read_bytes() for p in sorted(folder.rglob("*.yaml")))


def _settings_seeds() -> Iterator[bytes]:
    yield (ROOT / "qnnbuild.yaml").read_bytes()
    yield from (p.read_bytes() for p in sorted((ROOT / "tests/golden/errors").glob("sett*.yaml")))


def _chip_seeds() -> Iterator[bytes]:
    yield b"SM1: {soc-id: 9, arch: 75, vtcm-mb: 8}\n- {name: SM1, soc-id: 9, arch: 75}\n"
    yield (ROOT / "qnnbuild/model/chips.yaml").read_bytes()[:20_000]


TEXTS = {
    "yaml": (_yaml, _yaml_seeds),
    "recipe": (_recipe, _yaml_seeds),
    "plan": (_plan, _plan_seeds),
    "settings": (_settings, _settings_seeds),
    "own-chips": (_own_chips, _chip_seeds),
}
