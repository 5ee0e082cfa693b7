from __future__ import annotations

from pathlib import Path

import pytest

from qnnbuild.work.environments import environment, logical_lines
from qnnbuild.work.run import Run, WorkError

PINNED = """\
# what the export imports
torch==2.13.0+cpu   # the small one
numpy[extra] == 2.4.6 ; python_version > "3.10"
onnx==1.23.2 \\
    --hash=sha256:00 \\
    --hash=sha256:11
name @ https://example.org/name.whl --hash=sha256:22
--only-binary :all:
"""


def test_comments_and_breaks_are_no_part_of_the_requirements():
    assert list(logical_lines(PINNED)) == [
        "torch==2.13.0+cpu",
        'numpy[extra] == 2.4.6 ; python_version > "3.10"',
        "onnx==1.23.2 --hash=sha256:00 --hash=sha256:11",
        "name @ https://example.org/name.whl --hash=sha256:22",
        "--only-binary :all:",
    ]


@pytest.mark.parametrize(
    "line",
    [
        *("torch", "torch>=2", "torch==2.*", "torch==2,<3", "-r other.txt", "-c limits.txt"),
        *("-e .", "./local", "name @ https://example.org/name.whl", "--find-links dist"),
    ],
)
def test_every_line_that_is_not_pinned_is_named(tmp_path, line):
    (tmp_path / "req.txt").write_text(f"{PINNED}{line}\nrequests\n")
    run = Run(params={}, inputs={}, outputs={})

    with pytest.raises(WorkError) as caught:
        environment(run, tmp_path / "req.txt", Path("envs"))

    assert caught.value.message == "req.txt leaves open what gets installed"
    assert caught.value.place == "source.requirements"
    assert caught.value.facts == (("not pinned", line), ("not pinned", "requests"))
