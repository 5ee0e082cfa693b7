"""What of the installed plugin is too old for an option."""

from __future__ import annotations

import pytest

from qnnbuild.toolchains.ort_options import Since
from qnnbuild.toolchains.ort_versions import Versions, installed, versions_of


def test_what_is_installed_is_told_whole():
    found = installed()

    assert found.plugin is not None
    assert found.qairt is not None


def test_a_release_that_is_known_brings_what_the_table_says():
    assert versions_of("2.4.0") == Versions(plugin="2.4.0", qairt="2.48.40", qnn_api="2.37.0")
    assert versions_of("2.4.0", "2.50.1").qairt == "2.50.1"
    assert versions_of("9.9") == Versions(plugin="9.9")


@pytest.mark.parametrize(
    ("since", "lacks"),
    [
        (Since(), None),
        (Since(plugin="2.4"), None),
        (Since(plugin="2.4.0"), None),
        (Since(plugin="2.10"), ("onnxruntime-qnn", "2.10", "2.4.0")),
        (Since(qairt="2.49"), ("QAIRT", "2.49", "2.48.40")),
        (Since(plugin="2.1", qnn_api="2.38"), ("QNN's API", "2.38", "2.37.0")),
    ],
)
def test_versions_are_compared_as_numbers(since: Since, lacks: tuple[str, str, str] | None):
    assert versions_of("2.4.0").lacks(since) == lacks


def test_nobody_is_accused_of_an_age_that_nobody_tells():
    assert Versions().lacks(Since(plugin="99")) is None
    assert Versions(plugin="2.7.0.dev1").lacks(Since(plugin="2.7.0")) is None
