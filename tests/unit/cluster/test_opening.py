"""Which executor a build gets: that of a repo of strangers is never asked."""

from __future__ import annotations

import pytest

from qnnbuild.cluster.opening import allowed
from qnnbuild.engine.trust import TRUSTED, Trust
from qnnbuild.errors import Span
from qnnbuild.model.cluster import VARIABLE, Cluster

STRANGER = Trust(given=False, why="a test says so")
THEIRS = Cluster(
    url="dask://evil:8786", falls_back=True, span=Span(file="qnnbuild.yaml", line=1, column=1)
)


def test_a_repo_that_is_trusted_names_an_executor() -> None:
    assert allowed(THEIRS, {}, TRUSTED) == THEIRS


def test_a_repo_of_strangers_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert allowed(THEIRS, {}, STRANGER) is None

    assert "the executor of qnnbuild.yaml is left alone" in capsys.readouterr().err


def test_the_environment_names_one_and_nothing_of_the_repo_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ours = "dask://ours:8786"

    assert allowed(THEIRS, {VARIABLE: ours}, STRANGER) == Cluster(url=ours)
    assert capsys.readouterr().err == ""
