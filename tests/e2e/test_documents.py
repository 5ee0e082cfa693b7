"""Every command of README.md and docs/ is run, page by page, as a reader would."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documents import COMMANDS, Block, answers, blocks, pages
from tests.e2e.documented import Reader, built_repo, reader
from tests.e2e.small_repo import SmallRepo

pytestmark = pytest.mark.slow(seconds=100)
STANDING = re.compile(r"^[\d,]+ of [\d,]+ done; .*\n", re.MULTILINE)
"""A line of how the whole stands, which a slow machine has between the others."""


def is_done(block: Block) -> bool:
    return "file" in block.marks or (block.language in COMMANDS and "not run" not in block.marks)


DONE = {page: [block for block in blocks(page) if is_done(block)] for page in pages()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> SmallRepo:
    return built_repo(tmp_path_factory.mktemp("documents"))


@pytest.mark.parametrize("page", [page for page, done in DONE.items() if done])
def test_a_page_says_what_works(page: str, built: SmallRepo, tmp_path: Path) -> None:
    somebody = reader(page, tmp_path, built)
    for block in DONE[page]:
        if "file" in block.marks:
            somebody.writes(block)
        else:
            follow(somebody, block)


def follow(somebody: Reader, block: Block) -> None:
    """Do what the block says; its last command may be one that ends badly."""
    steps = list(block.steps())
    for number, (command, shown) in enumerate(steps, 1):
        code, told = somebody.does(command, block.marks.get("in", ""))
        wanted = int(block.marks.get("ends", 0)) if number == len(steps) else 0

        assert code == wanted, f"{block}: {command}\nended with {code} and said:\n{told}"
        if shown.strip():
            assert answers(shown).fullmatch(STANDING.sub("", told)), (
                f"{block}: {command}\nsaid:\n{told}"
            )
