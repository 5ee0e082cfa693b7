"""The pages that people read, as blocks: what they run, what they are shown, what they write.

A comment above a block, which neither GitHub nor the site shows, says what a test does with it:

    <!-- file: recipes/m.yaml -->   the block is written to that file
    <!-- in: ../own -->             it is run in that folder, seen from where the page begins
    <!-- ends: 5 -->                its last command ends with this exit code
    <!-- not run: phone -->         it is not run, for the reason of that name in NOT_RUN

A page begins in a small repo that is built, or in an empty folder (tests/e2e/documented.py).
A line `…` of an answer stands for any lines, and `…` in a line for anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = ("sh", "console")
SHOWN = ("yaml", "text", "python", "json", "nginx")
MARKS = ("file", "in", "ends", "not run")

NOT_RUN = {
    "installs": "it fetches packages; tests run in the environment that has them",
    "zoo": "it takes minutes and a network; tests/e2e/test_zoo.py builds the zoo on one chip",
    "suite": "it is what runs this test, or what it takes minutes to do beside it",
    "cluster": "servers on fixed ports; tests/e2e/test_cluster_builds.py starts such and builds",
    "container": "it needs a container engine and Qualcomm's SDK; tests/image runs the scripts",
    "server": "a server of others; tests/e2e/test_remote_cache_grpc.py builds with one",
    "phone": "it needs Qualcomm's SDK and a phone; tests/e2e/test_on_phone.py has stand-ins",
}
"""Why a block is not run, and what tests as much of it as a machine can show."""

FENCE = re.compile(r"^( *)```(\w*)$")
MARK = re.compile(r"^ *<!-- ([a-z ]+): (.+) -->$")
PROMPT = "$ "


@dataclass(frozen=True, kw_only=True)
class Block:
    page: str
    line: int
    language: str
    text: str
    marks: dict[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"

    def steps(self) -> Iterator[tuple[str, str]]:
        """Each command and what the page says that it answers; of `sh` the whole, and nothing."""
        if self.language == "sh":
            yield self.text, ""
            return
        for part in re.split(r"^(?=\$ )", self.text, flags=re.MULTILINE)[1:]:
            command, _, answer = part.removeprefix(PROMPT).partition("\n")
            yield command, answer


def pages() -> list[str]:
    """README.md and all else that is written for people, by its path in the repo."""
    found = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return sorted(path.relative_to(ROOT).as_posix() for path in found)


def read(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[Block]:
    found = []
    lines = enumerate(read(page).splitlines(), 1)
    marks: dict[str, str] = {}
    for number, line in lines:
        if mark := MARK.match(line):
            marks[mark[1]] = mark[2]
        elif fence := FENCE.match(line):
            indent, language = fence.groups()
            body = []
            for _, inner in lines:
                if inner == f"{indent}```":
                    break
                body.append(inner.removeprefix(indent) + "\n")
            text = "".join(body)
            found.append(Block(page=page, line=number, language=language, text=text, marks=marks))
            marks = {}
    return found


def answers(wanted: str) -> re.Pattern[str]:
    """What a command has to say, where a page leaves something out by `…`."""
    lines = []
    for line in wanted.rstrip("\n").split("\n"):
        parts = (re.escape(part) for part in line.rstrip().split("…"))
        lines.append("(?:.*\n)*" if line.strip() == "…" else "[^\n]*".join(parts) + " *\n")
    return re.compile("".join(lines))
