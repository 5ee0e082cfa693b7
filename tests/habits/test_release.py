"""What a release needs: its tag, its section of the changelog, and who may do what."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tools.release import NoReleaseError, main, notes

ROOT = Path(__file__).parents[2]
CHANGELOG = """\
# Changelog

## Unreleased

- Later.

## [1.2.3] - 2026-12-01

### Added

- One thing.

## 1.2.2 - 2026-11-01

- Before.
"""


def repo(root: Path, version: str) -> Path:
    (root / "pyproject.toml").write_text(f'[project]\nversion = "{version}"\n')
    (root / "CHANGELOG.md").write_text(CHANGELOG)
    return root


def jobs() -> dict[str, Any]:
    path = ROOT / ".github" / "workflows" / "release.yml"
    found: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]
    return found


def test_the_notes_are_the_section_of_the_version(tmp_path: Path) -> None:
    assert notes("v1.2.3", repo(tmp_path, "1.2.3")) == "### Added\n\n- One thing.\n"
    assert notes("v1.2.2", repo(tmp_path, "1.2.2")) == "- Before.\n"


@pytest.mark.parametrize(
    ("tag", "version", "message"),
    [
        ("v1.2.4", "1.2.3", "the tag is v1.2.4 and pyproject.toml has version 1.2.3"),
        ("1.2.3", "1.2.3", "the tag is 1.2.3 and pyproject.toml has version 1.2.3"),
        ("v1.2", "1.2", "CHANGELOG.md has no section of 1.2"),
        ("vUnreleased", "Unreleased", "CHANGELOG.md has no section of Unreleased"),
    ],
)
def test_a_tag_that_is_not_ready_is_refused(
    tmp_path: Path, tag: str, version: str, message: str
) -> None:
    with pytest.raises(NoReleaseError) as error:
        notes(tag, repo(tmp_path, version))

    first, hint = str(error.value).splitlines()
    assert first == message
    assert hint.startswith("  hint: ")


def test_a_version_without_words_is_refused(tmp_path: Path) -> None:
    (repo(tmp_path, "2.0") / "CHANGELOG.md").write_text("# Changelog\n\n## 2.0 - 2026-12-02\n")
    with pytest.raises(NoReleaseError, match=r"CHANGELOG\.md says nothing of 2\.0"):
        notes("v2.0", tmp_path)


def test_a_refusal_is_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["v0.0.0"]) == main([]) == 2
    assert capsys.readouterr().err.startswith("error: the tag is v0.0.0 and ")


def test_each_job_of_a_release_may_do_its_own_work_and_nothing_else() -> None:
    assert {name: job["permissions"] for name, job in jobs().items()} == {
        "package": {"contents": "read"},
        "attest": {"id-token": "write", "attestations": "write"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert jobs()["pypi"]["environment"] == {"name": "pypi"}


def test_nothing_is_published_before_it_was_tested() -> None:
    scripts = [step["run"] for step in jobs()["package"]["steps"] if "run" in step]

    assert scripts[1].startswith('.venv/bin/python -m tools.release "$GITHUB_REF_NAME"')
    assert scripts.index("make test") < next(i for i, s in enumerate(scripts) if "-m build" in s)
    assert [job.get("needs") for job in jobs().values()] == [None, "package", "attest", "pypi"]
