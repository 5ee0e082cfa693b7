"""LoRA adapters of a compiled graph: files of the bundle, and the option that chooses one."""

from __future__ import annotations

from collections.abc import Iterator

from qnnbuild.actions.action import SourceFiles
from qnnbuild.digest import Json
from qnnbuild.model.recipe import Graph

OPTION = "qnn.lora_config"


def adapter_files(graph: Graph) -> SourceFiles | None:
    """The binary sections, each once; None where there are none."""
    if graph.lora is None:
        return None
    return SourceFiles(patterns=tuple(dict.fromkeys(graph.lora.adapters.values())))


def adapters(graph: Graph, stem: str) -> dict[str, Json]:
    """What the bundle's work needs: where each file is from, and what it is called there."""
    if graph.lora is None or graph.wrapped is None:
        return {}
    return {
        "lora": {
            "graph": graph.wrapped.graph or graph.name,
            "default": graph.lora.default,
            "adapters": {
                name: {
                    "from": file,
                    "file": f"{stem}_lora_{name}.bin",
                    "config": _written_as(stem, name),
                }
                for name, file in graph.lora.adapters.items()
            },
        }
    }


def usual_adapter(graph: Graph, stem: str) -> Iterator[tuple[str, str]]:
    """The run option of an app that chooses none itself."""
    if graph.lora is not None and graph.lora.default is not None:
        yield OPTION, _written_as(stem, graph.lora.default)


def _written_as(stem: str, adapter: str) -> str:
    return f"{stem}_lora_{adapter}.txt"
