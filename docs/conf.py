"""The site of these pages: `make docs` builds it, without a network, and takes no broken link.

The pages are plain Markdown, which GitHub shows as it is. What stands in the site's margin is the
list of links in index.md, so that the order of pages is told once.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tools.errors_page import tables  # noqa: E402 - the repo is no package that is installed here

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = PROJECT["urls"]["Repository"]

project = PROJECT["name"]
author = f"the authors of {project}"
project_copyright = author
version = release = PROJECT["version"]

extensions = ["myst_parser"]
root_doc = "index"
nitpicky = True  # a name that leads nowhere is a warning, and make docs makes warnings errors
myst_heading_anchors = 6
myst_enable_extensions: list[str] = []  # what GitHub does not read, the site does not either
suppress_warnings: list[str] = []

html_theme = "furo"  # no fonts and no scripts of other machines
html_title = project
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "source_repository": f"{REPOSITORY}/",
    "source_branch": "main",
    "source_directory": "docs/",
}

OUTSIDE = re.compile(r"\]\((?:\.\./)+([^)#]+)(#[^)]*)?\)")
ENTRY = re.compile(r"^- \[([^\]]+)\]\(([^)]+)\.md\)", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def setup(app: Sphinx) -> None:
    app.connect("source-read", read)


def read(_: Sphinx, name: str, source: list[str]) -> None:
    """What a page is for the site: links out of docs/ lead to the repo, the index has a tree.

    The page of errors has its tables here only: they change with nearly every commit.
    """
    page = ROOT / "docs" / f"{name}.md"
    source[0] = OUTSIDE.sub(lambda found: leads(page, found), source[0])
    if name == root_doc:
        source[0] += tree(source[0])
    if name == "errors":
        source[0] += "\n" + tables()


def leads(page: Path, found: re.Match[str]) -> str:
    """A link as it is, or to the repo where the file is none of the site's."""
    target = (page.parent / found.group()[2:-1].partition("#")[0]).resolve()
    if target.is_relative_to(ROOT / "docs"):
        return found.group()
    if not target.exists():
        raise FileNotFoundError(f"{page.relative_to(ROOT)} links to {target}, which is not there")
    return f"]({REPOSITORY}/blob/main/{target.relative_to(ROOT).as_posix()}{found.group(2) or ''})"


def tree(index: str) -> str:
    """Sphinx's own form of the lists below each heading of the index, shown in the margin only."""
    _, *parts = HEADING.split(index)
    told = ""
    for heading, text in zip(parts[::2], parts[1::2], strict=True):
        entries = [(title.replace("`", ""), page) for title, page in ENTRY.findall(text)]
        pages = "\n".join(f"{title} <{page}>" for title, page in entries)
        told += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n{pages}\n```\n"
    return told
