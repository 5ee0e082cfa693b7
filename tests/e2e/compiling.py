"""The context action on the real compiler, through the warm server as a build does it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import onnx

from qnnbuild.engine.workers import Ended, Workers
from qnnbuild.model.chips import packaged_chips
from qnnbuild.model.recipe import ContextOptions, FileSource, Graph
from qnnbuild.toolchains.ortqnn import OrtQnn

CHIPS = packaged_chips()
WARM = "qnnbuild.work.warm:load"


@dataclass(frozen=True, kw_only=True)
class Compiled:
    ended: Ended
    said: Mapping[str, Any]
    folder: Path
    log: str

    @property
    def warnings(self) -> list[list[str]]:
        """What the run said beside its result; it must have ended well."""
        assert "error" not in self.said, self.said["error"]
        found: list[list[str]] = self.said["warnings"]
        return found

    @property
    def facts(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "out/facts/vad.json").read_text())
        return found

    @property
    def files(self) -> dict[str, bytes]:
        made = sorted((self.folder / "out/context").iterdir())
        return {path.name: path.read_bytes() for path in made}


def compiled(
    workers: Workers,
    folder: Path,
    model: onnx.ModelProto,
    chip: str = "SM8750",
    *,
    embed: bool = False,
    params: Mapping[str, Any] | None = None,
    names: Mapping[str, str] | None = None,
    **graph: Any,
) -> Compiled:
    """Compile `model` in `folder`; `params` replace what the toolchain says."""
    wanted = Graph(name="vad", source=FileSource(file="vad.onnx"), **graph)
    work = OrtQnn().context(wanted, CHIPS[chip], ContextOptions(embed=embed))
    for name in ("in/model", "in/names", "out/context", "out/facts", "tmp"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    onnx.save(model, str(folder / "in/model/model.onnx"))
    (folder / "in/names/names.json").write_text(json.dumps(names or {}))
    ended = workers.run(
        folder=folder,
        log=folder / "log.txt",
        deadline_s=120,
        env={"TMPDIR": "tmp"},
        call=work.call,
        params={**work.params, **(params or {})},
        inputs=["model", "names"],
        outputs=work.outputs,
    )
    said = json.loads((folder / "said.json").read_text())
    return Compiled(ended=ended, said=said, folder=folder, log=(folder / "log.txt").read_text())
