"""A build in a workflow of GitHub leaves a table below its step."""

from __future__ import annotations

import re
from pathlib import Path

from tests.e2e.doit_repo import M, make_repo


def test_a_build_tells_the_step_what_came_of_it(tmp_path: Path) -> None:
    (tmp_path / "repo").mkdir()
    repo = make_repo(tmp_path / "repo")
    summary = tmp_path / "summary.md"
    summary.write_text("from before\n")
    repo.env["GITHUB_STEP_SUMMARY"] = str(summary)
    repo.recipe("m", {**M, "context/m@A": {"needs": ["fetch/m"], "does": "fail 4"}})
    done = repo.doit("--continue", "m")
    text = re.sub(r"\d\.\d s", "N s", summary.read_text())

    assert done.returncode == 4
    assert text == (
        "from before\n"
        "made 2, failed 1, not built 1; took N s\n\n"
        "| model | chip | made | reused | fetched | failed | time | size | SQNR |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| `m` | `A` |  |  |  | 2 |  |  |  |\n"
        "| `m` | all | 1 |  |  |  | N s |  |  |\n"
        "| `m` | `B` | 1 |  |  |  | N s |  |  |\n"
        "\n### Failed\n\n"
        "- `context/m@A`: `recipes/x.yaml:3:5`: `context/m@A went wrong`\n\n"
    )


def test_a_summary_that_cannot_be_written_is_told_and_harms_no_build(tmp_path: Path) -> None:
    repo = make_repo(tmp_path)
    repo.env["GITHUB_STEP_SUMMARY"] = str(tmp_path / "not-there" / "summary.md")
    done = repo.doit("n")

    assert (done.returncode, len(repo.ran())) == (0, 2)
    assert done.stderr == (
        "warning: the summary of this step cannot be written: No such file or directory\n"
        f"  file: {tmp_path}/not-there/summary.md\n"
    )
