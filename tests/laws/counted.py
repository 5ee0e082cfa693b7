"""A counting fake toolchain: work with a known result, and a line for each run."""

from __future__ import annotations

import json
import os
from hashlib import sha256
from pathlib import Path

from qnnbuild.work.run import Run

COUNTER = "QNNBUILD_COUNTER"
"""Names the file that gets a line for each run; let through to actions, in no key."""


def mix(run: Run) -> None:
    """Each output is a small number, so that changed inputs often make an equal output."""
    texts = {
        name: "".join(p.read_text() for p in sorted(folder.iterdir()))
        for name, folder in run.inputs.items()
    }
    for name, folder in run.outputs.items():
        (folder / "value").write_text(str(value(str(run.params["salt"]), name, texts)))
    _count(str(run.params["salt"]))


def value(salt: str, output: str, texts: dict[str, str]) -> int:
    """What `mix` makes of the contents of its inputs."""
    said = "|".join([salt, output, *(f"{name}={texts[name]}" for name in sorted(texts))])
    return sum(position * byte for position, byte in enumerate(said.encode(), 1)) % 5


def bundle(run: Run) -> None:
    """All inputs side by side, with as much of a manifest as the index reads."""
    out = run.outputs["bundle"]
    for name, folder in run.inputs.items():
        for path in sorted(folder.iterdir()):
            # so long that it is not written at once
            (out / f"{name}-{path.name}").write_bytes(path.read_bytes() * 20_000)
    files = {
        path.name: {"sha256": sha256(path.read_bytes()).hexdigest(), "bytes": path.stat().st_size}
        for path in sorted(out.iterdir())
    }
    told = {
        "model": "model",
        "variants": [{"name": ""}],
        "chips": [{"name": "SM8750"}],
        "license": {"spdx": "MIT", "redistribute": True},
        "toolchain": {"name": "counted"},
        "graphs": {},
        "files": files,
    }
    (out / "manifest.json").write_text(json.dumps(told, indent=1))
    _count(str(run.params["salt"]))


def _count(salt: str) -> None:
    with Path(os.environ[COUNTER]).open("a") as counter:
        counter.write(f"{salt}\n")
