"""--op_packages of the compiled tools: libraries that really are loaded, and what they bring."""

from __future__ import annotations

import argparse
import ctypes
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests.standin.tools.library_file import Model
from tests.standin.tools.log import RefusedError, timed

TARGETS = ("", "CPU")  # of this machine; HTP is the Hexagon's own


def register(values: Mapping[str, str]) -> list[bytes]:
    """The bytes of each library, as `path:provider[:target]` names them."""
    return [_load(entry) for entry in values.get("op_packages", "").split(",") if entry]


def converters(given: argparse.Namespace) -> None:
    """--converter_op_package_lib and --op_package_lib, which the converter loads itself."""
    for path in filter(None, (getattr(given, "converter_op_package_lib", None) or "").split(",")):
        _open(path)
    for entry in filter(None, (getattr(given, "op_package_lib", None) or "").split(",")):
        path, _, provider = entry.partition(":")
        if not provider:
            raise RefusedError(f"Malformed opPackage string provided: {entry}")
        if not hasattr(_open(path), provider):
            raise RefusedError(f"Op package {path} has no function {provider}")


def check(models: Iterable[Model], registered: Iterable[bytes]) -> None:
    """Every operator of a graph is QNN's own, or some package's."""
    libraries = list(registered)
    for model in models:
        for op in model.meta.get("own_operators", []):
            if not any(op.encode() + b"\0" in library for library in libraries):
                node = next(one for one in model.meta["nodes"] if one["type"] == op)
                timed("ERROR", f"OpConfig validation failed for {op}", 12.4)
                timed("ERROR", f"QnnModel::addNode() validating node {node['name']} failed.", 12.4)
                raise RefusedError("Failed to compose graphs: ComposeGraphs Failed with error = 1")


def _open(path: str) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(os.path.realpath(path), mode=os.RTLD_NOW)
    except OSError as problem:
        raise RefusedError(f"Unable to load op package library: {problem}") from problem


def _load(entry: str) -> bytes:
    parts = entry.split(":")
    if len(parts) not in (2, 3) or not all(parts[:2]):
        raise RefusedError(f"Malformed opPackage string provided: {entry}")
    path, provider, target = (*parts, "")[:3]
    if target not in TARGETS:
        timed("ERROR", f"Op package registration is not supported for target {target}")
        raise RefusedError("Register Op Packages failure")
    try:
        library = ctypes.CDLL(os.path.realpath(path), mode=os.RTLD_NOW)
        getattr(library, provider)
    except (OSError, AttributeError) as problem:
        timed("ERROR", f"Could not load op package {path}: {problem}")
        raise RefusedError("Register Op Packages failure") from problem
    return Path(path).read_bytes()
