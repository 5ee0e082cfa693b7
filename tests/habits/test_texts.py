"""Tracked files name no machine and no registry, and the documents hold together."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# joined here, so that this file does not name one either
REGISTRY = re.compile("|".join(f"{a}\\.{b}" for a, b in (("pypi", "org"), ("pythonhosted", "org"))))
# folders of somebody's machine; /tmp and /srv stand in examples
MACHINE = re.compile(r"""(?:^|[\s"'`(=:])/(?:home|root|work|farm|Users|mnt)/\w""")
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")


def test_no_file_names_a_registry() -> None:
    assert found(REGISTRY) == []


def test_no_merge_is_left_half_done() -> None:
    assert found(re.compile(r"^(?:<{7}|>{7}) |^={7}$")) == []


def test_no_file_names_a_folder_of_a_machine() -> None:
    assert found(MACHINE) == []


@pytest.mark.parametrize("document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")))
def test_every_link_leads_somewhere(document: Path) -> None:
    text = re.sub(r"```.*?```", "", document.read_text(encoding="utf-8"), flags=re.DOTALL)
    links = [link for link in LINK.findall(text) if not link.startswith(("http://", "https://"))]

    assert [link for link in links if not leads_somewhere(document, link)] == []


def test_every_document_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document in reached or document.suffix != ".md" or not document.exists():
            continue
        reached.add(document)
        links = LINK.findall(document.read_text(encoding="utf-8"))
        waiting += [(document.parent / link.partition("#")[0]).resolve() for link in links]
    documents = {*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")}

    assert sorted(str(path.relative_to(ROOT)) for path in documents - reached) == []


def test_every_page_stands_in_the_index_which_is_the_margin_of_the_site() -> None:
    docs = ROOT / "docs"
    listed = re.findall(
        r"^- \[[^\]]+\]\(([^)#]+\.md)\)", (docs / "index.md").read_text(), re.MULTILINE
    )
    pages = {path.relative_to(docs).as_posix() for path in docs.glob("**/*.md")} - {"index.md"}

    assert sorted(listed) == sorted(pages)


def test_decisions_are_numbered_without_gaps() -> None:
    pages = sorted(path.name for path in (ROOT / "docs" / "decisions").glob("*.md"))

    assert [name[:4] for name in pages] == [f"{n:04}" for n in range(1, len(pages) + 1)]


@cache
def tracked() -> tuple[Path, ...]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return tuple(ROOT / name for name in listed.stdout.split("\0") if name)


def found(pattern: re.Pattern[str]) -> list[str]:
    places = []
    for path in tracked():
        if not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" in data:
            continue
        lines = data.decode("utf-8", errors="replace").splitlines()
        places += [
            f"{path.relative_to(ROOT)}:{number}"
            for number, line in enumerate(lines, 1)
            if pattern.search(line)
        ]
    return places


def leads_somewhere(document: Path, link: str) -> bool:
    name, _, anchor = link.partition("#")
    target = (document.parent / name).resolve() if name else document
    if not target.exists():
        return False
    return not anchor or anchor in anchors(target.read_text(encoding="utf-8"))


def anchors(text: str) -> set[str]:
    """The headings as GitHub spells them in addresses."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", h).strip().lower().replace(" ", "-") for h in headings}
