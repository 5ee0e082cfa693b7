"""Adapters of a compiled graph in its bundle: the binary sections, and a text that names each.

The text is `<graph name>;<adapter binary section path>`. Seen with onnxruntime-qnn 2.7.0 on the
host: the plugin reads it for each run and opens the path from the app's current folder. A text that
is not there, or has no `;`, is a line in the log and the run goes on without the adapter; a graph
that is not in the binary fails the run; a section that is not there ends the app.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qnnbuild.work.run import Run, WorkError


def take_adapters(run: Run, stem: str, out: Path) -> tuple[str, ...]:
    """Input "lora-<stem>" → names of the files that the bundle has of it."""
    told: Mapping[str, Any] | None = run.params["graphs"][stem].get("lora")
    if told is None:
        return ()
    names = []
    for adapter, one in told["adapters"].items():
        path = run.inputs[f"lora-{stem}"] / one["from"]
        if not path.is_file():
            raise WorkError(
                f"the adapter '{adapter}' is one file, and '{one['from']}' is a pattern",
                place=f"lora-{stem}",
                exit_code=2,
            )
        if path.stat().st_size == 0:
            raise WorkError(
                f"the adapter '{adapter}' is an empty file", place=f"lora-{stem}", exit_code=2
            )
        shutil.copyfile(path, out / one["file"])
        text = f"{told['graph']};{one['file']}"
        (out / one["config"]).write_text(text + "\n", encoding="utf-8", newline="\n")
        names += [one["file"], one["config"]]
    return tuple(names)


def told_of(graph: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's part, of a graph that has any: nothing of where they are from."""
    told = graph.get("lora")
    if told is None:
        return {}
    adapters = {
        name: {"file": one["file"], "config": one["config"]}
        for name, one in told["adapters"].items()
    }
    return {"lora": {"default": told["default"], "adapters": adapters}}
