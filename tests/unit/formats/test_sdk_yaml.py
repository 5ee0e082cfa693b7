"""Which version an SDK is, and whether two words for a version can be the same."""

from __future__ import annotations

import pytest

from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.sdk_yaml import same_version, sdk_version


def test_the_version_is_read() -> None:
    assert sdk_version("name: x\nversion: 2.40.0.251030\nonnx: 1.17.0\n") == "2.40.0.251030"
    assert sdk_version("version: '2.40.0'\n") == "2.40.0"
    with pytest.raises(FormatError):
        sdk_version("onnx_version: 1.17.0\n")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2.40", "2.40.0.251030", True),
        ("2.40.0.251030", "v2.40.0.251030114326_189385", True),
        ("v2.51.0.260929181845", "2.51.0.260929181845_1", True),
        ("2.40.0", "qaisw-v2.40.0.251030114326_189385", True),
        ("2.4", "2.40.0", False),
        ("2.40.0.251030", "v2.40.0.251031114326", False),
        ("2.45.40", "2.45.0", False),
        ("2.40.0.251030114326", "2.40.0.251030114327", False),
    ],
)
def test_versions_are_compared_as_far_as_both_tell(one: str, other: str, same: bool) -> None:
    assert same_version(one, other) is same
