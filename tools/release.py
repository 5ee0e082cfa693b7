"""Notes of a release out of CHANGELOG.md: python -m tools.release v0.1.0

Refuses a tag that is not the version of pyproject.toml, and a version that the changelog does not
know. .github/workflows/release.yml runs it first.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HEADING = re.compile(r"^## \[?(?P<version>[^\]\s]+)\]? - \d{4}-\d\d-\d\d$", re.MULTILINE)


class NoReleaseError(Exception):
    """What is wrong, and what mends it, in a line each."""


def notes(tag: str, root: Path = ROOT) -> str:
    """The changelog's section of the version that `tag` names. Raises NoReleaseError."""
    told = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    version = told["project"]["version"]
    if tag != f"v{version}":
        raise NoReleaseError(
            f"the tag is {tag} and pyproject.toml has version {version}\n"
            f"  hint: git tag v{version}, or raise the version first"
        )
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    found = {one["version"]: one for one in HEADING.finditer(text)}
    if version not in found:
        raise NoReleaseError(
            f"CHANGELOG.md has no section of {version}\n"
            f"  hint: call what stands under Unreleased '## {version} - YYYY-MM-DD'"
        )
    begin = found[version].end()
    end = re.search(r"^## ", text[begin:], re.MULTILINE)
    section = text[begin : begin + end.start() if end else len(text)].strip()
    if not section:
        raise NoReleaseError(
            f"CHANGELOG.md says nothing of {version}\n  hint: write what changed for its users"
        )
    return section + "\n"


def main(words: list[str]) -> int:
    if len(words) != 1:
        sys.stderr.write("usage: python -m tools.release TAG\n")
        return 2
    try:
        sys.stdout.write(notes(words[0]))
    except NoReleaseError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
