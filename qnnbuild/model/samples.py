"""Where inputs come from, as resolved: `calibration:` and the `inputs:` of `verify:`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from qnnbuild.errors import Problem
from qnnbuild.model.paths import items_of, member_of, path_of, paths_of
from qnnbuild.model.recipe import (
    ExportSource,
    Images,
    PythonFeeds,
    RawInput,
    Samples,
    Source,
)
from qnnbuild.text.nodes import MappingNode, Node, scalars

_WAYS = ("files", "exported", "python", "random")
_OF_FILES = ("inputs", "images")


def samples_of(node: Node, value: Any, problems: list[Problem]) -> Samples:
    """The samples of what the schema has accepted; a path or list of paths means files."""
    if not isinstance(node, MappingNode):
        files = paths_of(node, problems)
        problems.extend(_raw_files(node, files, {}))
        return Samples(files=files)
    problems.extend(_contradictions(node))
    files = paths_of(node.get("files"), problems)
    exported = tuple(member_of(one, problems) for one in items_of(node.get("exported")))
    raw = {
        name: RawInput(dtype=given["dtype"], shape=tuple(given["shape"]))
        for name, given in value.get("inputs", {}).items()
    }
    problems.extend(_raw_files(node, files, raw))
    return Samples(
        files=files,
        exported=exported,
        raw=raw,
        images=_images(node, value["images"], problems) if "images" in value else None,
        python=_python(node, value["python"], problems) if "python" in value else None,
        random=value.get("random"),
        at_least=value.get("min_samples", 1),
        at_most=value.get("max_samples"),
        may_be_constant=tuple(value.get("may_be_constant", ())),
    )


def nothing_exported(source: Source, node: MappingNode) -> Iterator[Problem]:
    """Samples that are to be from the source's command, which writes none."""
    if isinstance(source, ExportSource) and source.also:
        return
    verify = node.mapping("verify")
    for given in (node.get("calibration"), verify.get("inputs") if verify else None):
        if isinstance(given, MappingNode) and "exported" in given:
            yield Problem(
                message="the source brings nothing but the ONNX file",
                at=given.entries["exported"].key.span,
                hint="source: {export: {also: …}} names what its command writes beside it",
            )


def _contradictions(node: MappingNode) -> Iterator[Problem]:
    ways = [way for way in _WAYS if way in node]
    if not ways:
        hint = "files: calib/*.npz, or python: {file: feeds.py}, or random: 8"
        yield Problem(message="nothing says where the inputs are from", at=node.span, hint=hint)
    if len(ways) > 1:
        message = f"inputs are from '{ways[0]}' or from '{ways[1]}', not from both"
        yield Problem(message=message, at=node.entries[ways[1]].key.span)
    for key in _OF_FILES:
        if key in node and ways and not {"files", "exported"} & {*ways}:
            at = node.entries[key].key.span
            yield Problem(message=f"'{key}' is about files, and there are none", at=at)


def _raw_files(
    node: Node, files: tuple[str, ...], raw: Mapping[str, RawInput]
) -> Iterator[Problem]:
    """Raw files do not say what they hold, so the recipe has to."""
    if raw or not any(file.endswith((".raw", ".bin")) for file in files):
        return
    place = next(
        (scalar.span for scalar in scalars(node) if scalar.value.endswith((".raw", ".bin"))),
        node.span,
    )
    yield Problem(
        message="nothing says what the raw files hold",
        at=place,
        hint="{files: …, inputs: {x: {dtype: float32, shape: [1, 3, 224, 224]}}}",
    )


def _images(node: MappingNode, given: Mapping[str, Any], problems: list[Problem]) -> Images:
    channels = 1 if given.get("colour") == "L" else 3
    written = node.mapping("images")
    assert written is not None
    problems.extend(_wrong_channels(written, given, channels))
    return Images(
        input=given["input"],
        resize=_pair(given.get("resize")),
        crop=_pair(given.get("crop")),
        mean=_each(given.get("mean", [0.0]), channels),
        std=_each(given.get("std", [1.0]), channels),
        scale=float(given.get("scale", 255.0)),
        layout=given.get("layout", "NCHW"),
        colour=given.get("colour", "RGB"),
    )


def _wrong_channels(
    written: MappingNode, given: Mapping[str, Any], channels: int
) -> Iterator[Problem]:
    for key in ("mean", "std"):
        if len(given.get(key, ())) not in {0, 1, channels}:
            yield Problem(
                message=f"'{key}' has {len(given[key])} values for {_channels(channels)}",
                at=written.entries[key].key.span,
                hint="one value is for all channels",
            )


def _python(node: MappingNode, given: Mapping[str, Any], problems: list[Problem]) -> PythonFeeds:
    written = node.mapping("python")
    assert written is not None
    requirements = written.get("requirements")
    return PythonFeeds(
        file=path_of(written.get("file"), problems),
        function=given.get("function", "feeds"),
        needs=paths_of(written.get("needs"), problems),
        requirements=path_of(requirements, problems) if requirements else None,
    )


def _channels(number: int) -> str:
    return "one channel" if number == 1 else f"{number} channels"


def _pair(given: list[int] | None) -> tuple[int, int] | None:
    return (given[0], given[1]) if given else None


def _each(given: list[float], channels: int) -> tuple[float, ...]:
    values = tuple(float(value) for value in given)
    return values * channels if len(values) == 1 else values
