"""What qnn-context-binary-utility writes of a context binary, as JSON.

No complete sample is public. Field names are those that published programs read; where they
differ by version (`dsp arch` and `dspArch`, lists and single objects, an inner `info`) all forms
are taken.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from qnnbuild.formats.format_error import FormatError


@dataclass(frozen=True, kw_only=True)
class BorderTensor:
    name: str
    dtype: str
    shape: tuple[int, ...]
    scale: float | None = None
    offset: int | None = None


@dataclass(frozen=True, kw_only=True)
class ReadGraph:
    """None stands for what the file does not say."""

    name: str
    inputs: tuple[BorderTensor, ...]
    outputs: tuple[BorderTensor, ...]
    vtcm_mb: int | None
    optimization: int | None
    hvx_threads: int | None
    spill_fill_bytes: int | None


@dataclass(frozen=True, kw_only=True)
class ReadContext:
    build: str
    soc_model: int | None  # 0 where the compile did not note it
    arch: int | None
    core_api: str | None
    backend_api: str | None
    blob_version: str | None
    graphs: tuple[ReadGraph, ...]


def read_context_json(text: str) -> ReadContext:
    """Raises FormatError when it is nothing that the utility writes."""
    try:
        top = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"no JSON: {error}") from None
    info = _inner(top)
    if "buildId" not in info:
        raise FormatError("no buildId in it")
    try:
        return _context(info)
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError(f"a number is none: {error}") from None


def _context(info: Mapping[str, Any]) -> ReadContext:
    meta = _inner(info.get("contextMetadata"))
    plain = {str(key).replace(" ", "").casefold(): value for key, value in meta.items()}
    return ReadContext(
        build=str(info["buildId"]),
        soc_model=_whole(info.get("socModel")) or _whole(plain.get("socmodel")),
        arch=_whole(plain.get("dsparch")),
        core_api=_version(info.get("coreApiVersion")),
        backend_api=_version(info.get("backendApiVersion")),
        blob_version=_version(info.get("contextBlobVersion")),
        graphs=tuple(_graph(graph) for graph in _list(info.get("graphs"))),
    )


def _graph(given: Any) -> ReadGraph:
    info = _inner(given)
    told = next((_inner(one) for one in _list(info.get("graphBlobInfo"))), {})
    return ReadGraph(
        name=str(info.get("graphName", "")),
        inputs=tuple(_tensor(one) for one in _list(info.get("graphInputs"))),
        outputs=tuple(_tensor(one) for one in _list(info.get("graphOutputs"))),
        vtcm_mb=_whole(told.get("vtcmSize")),
        optimization=_whole(told.get("optimizationLevel")),
        hvx_threads=_whole(told.get("numHvxThreads")),
        spill_fill_bytes=_whole(told.get("spillFillBufferSize")),
    )


def _tensor(given: Any) -> BorderTensor:
    info = _inner(given)
    encoding = _inner(info.get("quantizeParams"))
    defined = encoding.get("definition") == "QNN_DEFINITION_DEFINED"
    scale = _inner(encoding.get("scaleOffset")) if defined else {}
    sizes = _list(info.get("dimensions", info.get("currentDimensions")))
    return BorderTensor(
        name=str(info.get("name", "")),
        dtype=_dtype(str(info.get("dataType", ""))),
        shape=tuple(size for one in sizes if (size := _whole(one)) is not None),
        scale=float(scale["scale"]) if "scale" in scale else None,
        offset=_whole(scale.get("offset")),
    )


def _dtype(name: str) -> str:
    """numpy's name: QNN_DATATYPE_UFIXED_POINT_16 are numbers of type uint16."""
    plain = name.removeprefix("QNN_DATATYPE_").lower()
    for theirs, ours in (("ufixed_point_", "uint"), ("sfixed_point_", "int"), ("_8", "8")):
        plain = plain.replace(theirs, ours)
    return plain.replace("_", "") if plain.rpartition("_")[2].isdigit() else plain


def _inner(given: Any) -> Mapping[str, Any]:
    """What is inside of `info`, where there is such a level."""
    if isinstance(given, Mapping) and isinstance(given.get("info"), Mapping):
        given = given["info"]
    return given if isinstance(given, Mapping) else {}


def _list(given: Any) -> Iterator[Any]:
    if isinstance(given, list):
        yield from given
    elif given is not None:
        yield given


def _whole(given: Any) -> int | None:
    if isinstance(given, bool):
        return None
    if isinstance(given, float):
        return int(given)
    if isinstance(given, str):
        given = given.removeprefix("v")
        return int(given) if given.isascii() and given.isdigit() else None
    return given if isinstance(given, int) else None


def _version(given: Any) -> str | None:
    if isinstance(given, Mapping):
        parts = [given.get(name) for name in ("major", "minor", "patch")]
        return ".".join(str(part) for part in parts if part is not None) or None
    return None if given is None else str(given)
