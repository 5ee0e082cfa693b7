"""The files that input_lists name: they are inputs as much as the lists themselves."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from qnnbuild.engine.input_sizes import MOST, SAMPLES
from qnnbuild.engine.small_file import NotSmall, read_small
from qnnbuild.formats.format_error import FormatError
from qnnbuild.formats.input_list import LIST, beside, read_input_list


def followed(root: Path, files: Mapping[str, Path]) -> dict[str, Path]:
    """`files` and those that their lists name, as far as they are there.

    What is wrong with a list, or missing, is told by the action that reads the samples, with the
    list's line.
    """
    found = dict(files)
    for name, path in files.items():
        if path.suffix.lower() != LIST:
            continue
        try:
            lines = read_input_list(read_small(path, MOST[SAMPLES]))
            named = [beside(name, file, line.number) for line in lines for _, file in line.files]
        except (FormatError, NotSmall, OSError):
            continue
        found.update({file: root / file for file in named if os.path.isfile(root / file)})
    return found
