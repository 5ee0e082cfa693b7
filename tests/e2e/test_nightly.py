"""qnnbuild nightly keeps one issue, over nights that are good and bad."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from qnnbuild.cli import main
from qnnbuild.engine.report_file import told_by
from qnnbuild.report.night import MARKER
from qnnbuild.report.page import page
from tests.reported import FAILED, VAD, Told, failed

CONTEXTS = tuple(f"context/vad/near/w8a8@{chip}" for chip in ("SM8550", "SM8750"))
NIGHTS = {"good": (), "bad": CONTEXTS[:1], "worse": CONTEXTS}


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for each night, with a report and no bundles."""
    top = tmp_path_factory.mktemp("nights")
    for name, fails in NIGHTS.items():
        told = Told.of(VAD)
        for context in fails:
            told.be(context, failed(FAILED))
        (top / name).mkdir()
        (top / name / "report.html").write_text(page(told.json()))
    return top


class GitHub:
    def __init__(self, file: Path) -> None:
        self.file = file

    @property
    def known(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.file.read_text())
        return found

    @property
    def issue(self) -> dict[str, Any]:
        (found,) = self.known["issues"]
        issue: dict[str, Any] = found
        return issue


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitHub:
    program = tmp_path / "bin" / "gh"
    program.parent.mkdir()
    fake = Path(__file__).with_name("fake_gh.py")
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {fake} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("GH_ISSUES", str(tmp_path / "issues.json"))
    monkeypatch.setenv("GH_TOKEN", "opens")
    return GitHub(tmp_path / "issues.json")


def test_one_issue_comes_and_goes_with_the_nights(
    nights: Path, github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    told = []
    for name in ("good", "bad", "bad", "worse", "good", "good", "bad"):
        code = main(["nightly", str(nights / "good"), str(nights / name), "--issue"])
        said = capsys.readouterr()
        told.append((code, said.err.splitlines()[0].removeprefix("the issue: ")))

    assert told == [
        (0, "none is needed"),
        (5, "opened"),
        (5, "#1 says it already"),
        (5, "#1 changed"),
        (0, "#1 closed"),
        (0, "#1 stays closed"),
        (5, "#1 opened again"),
    ]
    assert (github.issue["state"], github.issue["title"]) == ("OPEN", "Nightly: 1 failed")
    assert github.issue["comments"] == ["All is well again."]
    assert github.known["asked"].count("issue edit") == 3


def test_an_issue_that_only_has_the_label_is_left_alone(nights: Path, github: GitHub) -> None:
    theirs = {
        "number": 1, "state": "OPEN", "labels": ["qnnbuild-nightly"], "comments": [],
        "title": "I see it, too", "body": "me",
    }  # fmt: skip
    github.file.write_text(json.dumps({"asked": [], "labels": [], "issues": [theirs]}))
    main(["nightly", str(nights / "good"), str(nights / "bad"), "--issue"])
    first, second = github.known["issues"]

    assert first == theirs
    assert second["body"].startswith(MARKER)


def test_without_issue_it_asks_nobody_and_prints_what_it_would_say(
    nights: Path, github: GitHub, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["nightly", str(nights / "none"), str(nights / "bad")])
    said = capsys.readouterr()

    assert code == 5
    assert said.out.startswith(f"{MARKER}\n5 built, 1 failed,")
    assert "This is the first night." in said.out
    assert said.err == "error: Nightly: 1 failed\n  hint: it is told on stdout\n"
    assert not github.file.exists()


def test_a_night_that_made_nothing_is_told(nights: Path, github: GitHub) -> None:
    code = main(["nightly", str(nights / "good"), str(nights / "none"), "--issue"])

    assert (code, github.issue["title"]) == (5, "Nightly: there is no build")


def test_what_gh_refuses_is_an_error(
    nights: Path,
    github: GitHub,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("GH_TOKEN", "wrong")
    code = main(["nightly", str(nights / "good"), str(nights / "bad"), "--issue"])

    assert code == 4
    assert capsys.readouterr().err == (
        "error: gh issue list ended with 4\n"
        "  says: HTTP 401: Bad credentials\n"
        "  hint: gh needs GH_TOKEN with `issues: write`, and GH_REPO outside of a checkout\n"
    )


def test_without_gh_it_says_so(
    nights: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code = main(["nightly", str(nights / "good"), str(nights / "bad"), "--issue"])

    assert code == 4
    assert "error: gh is not installed here" in capsys.readouterr().err


def test_a_nights_report_goes_on_from_the_one_before(nights: Path, tmp_path: Path) -> None:
    for name in NIGHTS:
        shutil.copytree(nights / name, tmp_path / name)
    codes = [
        main(["nightly", str(tmp_path / before), str(tmp_path / after), "--report"])
        for before, after in (("none", "good"), ("good", "bad"), ("bad", "worse"))
    ]
    told = told_by(tmp_path / "worse" / "report.html")

    assert codes == [0, 5, 5]
    assert told is not None
    assert [night["failed"] for night in told["nights"]] == [0, 1, 2]
    assert {cell: earlier["state"] for cell, earlier in told["earlier"].items()} == {
        "vad/w8a8@SM8550": [["built", 0]], "vad/w8a8@SM8750": [["built", 1]],
    }  # fmt: skip
