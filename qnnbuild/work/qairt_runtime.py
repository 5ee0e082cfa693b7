"""runtime for Qualcomm's SDK: libraries that a device runs its binaries with, and their licence."""

from __future__ import annotations

import shutil
from pathlib import Path

from qnnbuild.formats.elf_file import read_elf
from qnnbuild.formats.format_error import FormatError
from qnnbuild.work.qairt_sdk import Sdk, sdk_here
from qnnbuild.work.run import Run, WorkError

FOLDER = "qnn"
"""Where they lie in a bundle, below it by the system."""


def runtime(run: Run) -> None:
    """Output "libraries": all of `params.files` in one folder, since apps look in one.

    `params`: files (of the SDK), texts (patterns of its licence), target (as users know it).
    """
    sdk = sdk_here()
    folder = run.outputs["libraries"] / FOLDER / run.params["target"]
    folder.mkdir(parents=True)
    for name in run.params["files"]:
        path = sdk.root / name
        try:
            is_library = read_elf(path.read_bytes()).is_library
        except FormatError as error:
            raise WorkError(f"{name} is not whole: {error}", place="toolchain") from None
        if not is_library:
            raise WorkError(f"{name} is no library", place="toolchain")
        shutil.copyfile(path, folder / path.name)
    texts = _texts(run, sdk)
    if not texts:
        raise WorkError(
            "the SDK has no text of its licence, which goes along with its libraries",
            place="bundle.sdk_libraries",
            facts=[("looked for", ", ".join(run.params["texts"])), ("in", str(sdk.root))],
            hint="put the text there that came with the SDK",
        )
    for path in texts:
        shutil.copyfile(path, folder / path.name)


def _texts(run: Run, sdk: Sdk) -> list[Path]:
    found = {path for pattern in run.params["texts"] for path in sdk.root.glob(pattern)}
    return sorted(path for path in found if path.is_file())
