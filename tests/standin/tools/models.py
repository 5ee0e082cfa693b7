"""What --model and --dlc_path of the compiled tools name: libraries, or DLCs behind one library."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tests.standin.tools import dlc_file, library_file
from tests.standin.tools.htp_config import found
from tests.standin.tools.library_file import Model, UnreadableError
from tests.standin.tools.log import RefusedError, timed
from tests.standin.tools.release import Release, parts

DLC_LIBRARY = "libQnnModelDlc.so"


def models(values: Mapping[str, str], release: Release) -> list[Model]:
    """Raises RefusedError with the tool's last line; older libraries than the SDK are taken."""
    dlcs = _listed(values.get("dlc_path", ""))
    libraries = _listed(values.get("model", ""))
    if not dlcs and not libraries:
        raise RefusedError("Missing option: --model or --dlc_path")
    made = []
    try:
        if dlcs:
            for library in libraries:
                _found(library)
            made = [dlc_file.read(Path(path)) for path in dlcs]
        else:
            prefix = values.get("model_prefix", "QnnModel")
            made = [_library(path, prefix) for path in libraries]
    except UnreadableError as problem:
        timed("ERROR", f"Unable to load model. {problem}", 2.1)
        raise RefusedError("Initialization failure") from problem
    for model in made:
        _same_version(model, release)
    return made


def _library(path: str, prefix: str) -> Model:
    place = _found(path)
    if place.name == DLC_LIBRARY:
        raise RefusedError(f"{DLC_LIBRARY} needs --dlc_path")
    model = library_file.read(place)
    if model.meta["prefix"] != prefix:
        raise UnreadableError(f"{path}: undefined symbol: {prefix}_composeGraphs")
    return model


def _found(path: str) -> Path:
    place = found(path)
    if place is None:
        raise UnreadableError(f"{path}: cannot open shared object file: No such file or directory")
    return place


def _same_version(model: Model, release: Release) -> None:
    if parts(model.meta["sdk"]) > release.number:
        node = model.meta["nodes"][0] if model.meta["nodes"] else {"name": "?", "type": "?"}
        timed("ERROR", f"OpConfig validation failed for {node['type']}", 12.4)
        timed("ERROR", f"QnnModel::addNode() validating node {node['name']} failed.", 12.4)
        raise RefusedError("Failed to compose graphs: ComposeGraphs Failed with error = 1")


def _listed(text: str) -> list[str]:
    return [part for part in text.split(",") if part]
